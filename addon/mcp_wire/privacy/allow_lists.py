"""What stays as it is when traffic is redacted, each with its reason. Everything that is not listed here is replaced.

Two rules for additions. A value stays only where its whole text is known in advance to hold nothing personal or secret:
words of a public vocabulary, numbers that the protocol defines, versions. And a name stays only where it is public.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from mcp_wire.protocol.gateways import GATEWAY_PRODUCTS
from mcp_wire.protocol.schemas import CLOSED_VOCABULARIES


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# --- HTTP header fields ---

WORDS_OF_MEDIA_TYPES: Final = _words(
    "*/* application/* text/* image/* audio/* video/* application/json text/event-stream text/html text/plain "
    "text/xml text/css text/csv text/javascript text/markdown application/xml application/xhtml+xml "
    "application/octet-stream application/pdf application/x-www-form-urlencoded application/problem+json "
    "application/json-rpc application/jsonrequest application/jsonrpc application/json5 application/javascript "
    "application/signed-exchange application/x-ndjson application/ndjson application/zip multipart/form-data "
    "multipart/mixed image/png image/jpeg image/gif image/webp image/avif image/apng image/svg+xml image/bmp "
    "image/tiff image/x-icon audio/wav audio/mpeg audio/mp4 audio/ogg audio/webm audio/flac video/mp4 video/webm "
    "text/html+skybridge text/html;profile=mcp-app charset q utf-8 utf8 us-ascii ascii iso-8859-1 latin-1 latin1 "
    "utf-16 utf-16le utf-16be windows-1252 boundary version v profile b3"
)
WORDS_OF_CODINGS: Final = _words("gzip x-gzip compress deflate br zstd identity chunked trailers * q")
WORDS_OF_CACHING: Final = _words(
    "no-cache no-store no-transform private public must-revalidate proxy-revalidate must-understand immutable max-age "
    "s-maxage max-stale min-fresh only-if-cached stale-while-revalidate stale-if-error no yes"
)
WORDS_OF_CONNECTIONS: Final = _words(
    "keep-alive close upgrade te trailers timeout max h2c websocket http/1.1 http2-settings"
)
WORDS_OF_METHODS: Final = _words("GET HEAD POST PUT DELETE OPTIONS PATCH TRACE CONNECT *")
WORDS_OF_CACHE_STATES: Final = _words(
    "HIT MISS BYPASS EXPIRED STALE UPDATING REVALIDATED DYNAMIC NONE/UNKNOWN TCP_HIT TCP_MISS REFRESH_HIT from "
    "cloudfront Hit Miss Error varnish cache fwd stored"
)
WORDS_OF_FETCH: Final = _words(
    "cors no-cors navigate same-origin same-site cross-site none empty document websocket nested-navigate ?0 ?1 "
    "script worker iframe include 1 0 true false *"
)
AUTHENTICATION_SCHEMES: Final = _words("bearer basic dpop digest negotiate ntlm hoba mutual")
WORDS_OF_CHALLENGES: Final = AUTHENTICATION_SCHEMES | _words(
    "realm scope error error_description error_uri resource_metadata algs charset algorithm qop auth utf-8 md5 "
    "sha-256 invalid_token invalid_request insufficient_scope use_dpop_nonce"
)

WORD_HEADERS: Final[Mapping[str, frozenset[str]]] = {
    "accept": WORDS_OF_MEDIA_TYPES,  # rules read which media types a client lists, with which weight
    "content-type": WORDS_OF_MEDIA_TYPES,  # says how the body is to be read
    "content-encoding": WORDS_OF_CODINGS,  # names of codings are registered
    "accept-encoding": WORDS_OF_CODINGS,
    "transfer-encoding": WORDS_OF_CODINGS,
    "te": WORDS_OF_CODINGS,
    "cache-control": WORDS_OF_CACHING,  # registered directives, and seconds
    "pragma": WORDS_OF_CACHING,
    "x-accel-buffering": WORDS_OF_CACHING,  # yes or no; 2026-07-28 asks for it
    "connection": WORDS_OF_CONNECTIONS,  # options are names of header fields
    "proxy-connection": WORDS_OF_CONNECTIONS,
    "keep-alive": WORDS_OF_CONNECTIONS,
    "upgrade": WORDS_OF_CONNECTIONS,
    "allow": WORDS_OF_METHODS,  # names of methods
    "access-control-allow-methods": WORDS_OF_METHODS,
    "access-control-request-method": WORDS_OF_METHODS,
    "x-cache": WORDS_OF_CACHE_STATES,  # an HTTP cache says whether it answered
    "x-proxy-cache": WORDS_OF_CACHE_STATES,
    "cf-cache-status": WORDS_OF_CACHE_STATES,
    "sec-fetch-mode": WORDS_OF_FETCH,  # closed vocabularies of browsers
    "sec-fetch-site": WORDS_OF_FETCH,
    "sec-fetch-dest": WORDS_OF_FETCH,
    "sec-fetch-user": WORDS_OF_FETCH,
    "access-control-allow-credentials": WORDS_OF_FETCH,
    "access-control-allow-private-network": WORDS_OF_FETCH,
    "access-control-request-private-network": WORDS_OF_FETCH,
    "upgrade-insecure-requests": WORDS_OF_FETCH,
    "dnt": WORDS_OF_FETCH,
    "x-content-type-options": _words("nosniff"),
    "x-forwarded-proto": _words("http https"),
    "expect": _words("100-continue"),
    "accept-ranges": _words("bytes none"),
    "www-authenticate": WORDS_OF_CHALLENGES,  # scheme and names of parameters; their values are replaced
    "proxy-authenticate": WORDS_OF_CHALLENGES,
}
"""Lower-case header -> words that stay in it (compared without regard to case). Punctuation stays; other words go."""

WEIGHTS: Final = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")
"""Weights of media types and codings (RFC 9110 12.4.2): whether one is zero decides what is accepted."""

_A_DAY: Final = 24 * 60 * 60
_A_WEEK: Final = 7 * _A_DAY
_A_YEAR: Final = 365 * _A_DAY

NUMBERS_IN_WORDS: Final[Mapping[str, int]] = {
    "accept": 99,  # parameters of media types: versions and levels
    "cache-control": _A_YEAR,  # seconds: no cache keeps anything longer (RFC 9111 5.2.2.1)
    "keep-alive": _A_DAY,  # seconds, and requests on one connection
    "x-cache": 9_999,  # hits
    "x-proxy-cache": 9_999,
    "cf-cache-status": 9_999,
}
"""In these, numbers up to so much stay as well. A larger one counts nothing that anybody has seen: it could be a
telephone number, say, and becomes `OUT_OF_RANGE`."""

NUMBER_HEADERS: Final[Mapping[str, int]] = {
    "content-length": 999_999_999,  # octets, compared with those that were received; more has never been one message
    "age": _A_YEAR,  # seconds in an HTTP cache; rules ask only whether it is zero
    "retry-after": _A_WEEK,  # seconds
    "access-control-max-age": _A_WEEK,
    "x-ratelimit-limit": 999_999,  # the server's own quota
    "x-ratelimit-remaining": 999_999,
    "ratelimit-limit": 999_999,
    "ratelimit-remaining": 999_999,
}
"""Lower-case header -> the largest number that stays as its value."""

SECONDS: Final = frozenset({"age", "cache-control", "retry-after", "access-control-max-age"})
"""In these, numbers count seconds: beyond a day, whole hours are told and no more."""

OUT_OF_RANGE: Final = 999_999_999_999_999
"""Stands for a larger number: still one, of as many digits as are ever read."""

_HTTP_DATE: Final = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-3][0-9] (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) "
    r"(?:19|20)[0-9]{2} [0-2][0-9]:[0-5][0-9]:[0-6][0-9] GMT"
)
DATES: Final[Mapping[str, re.Pattern[str]]] = {
    "date": _HTTP_DATE,
    "retry-after": _HTTP_DATE,
    "expires": re.compile(rf"0|-1|{_HTTP_DATE.pattern}"),
    "access-control-max-age": re.compile("-1"),
}
"""Lower-case header -> values that stay: when a message was sent or grows stale (RFC 9110 5.6.7)."""

PRODUCT_HEADERS: Final = frozenset({"user-agent", "server", "via", "x-powered-by"})
"""Product tokens with a version (`nginx/1.22`) stay: they say which implementations met. So do those below without one.
Comments and all else in them go: a bare word may be the name of a machine, a customer or worse (RFC 9110 7.6.3 lets a
gateway call itself anything in Via)."""

PRODUCTS: Final = frozenset(word for name in GATEWAY_PRODUCTS for word in name.split()) | _words(
    "aiohttp akamai amazons3 android angie apache apisix applebot asp.net ats awselb axios bigip bun caddy chatgpt "
    "chrome chromium claude claude-code claude-desktop claude-user claudebot cloudflare cloudfront cloudrun codex "
    "copilot cowboy curl cursor cypress daphne dart deno dotnet edge electron envoy esf express fastapi fastify "
    "fastly fastmcp fiddler firefox flask fly frontend gateway gecko gemini go go-http-client google goose granian "
    "gunicorn gws haproxy heroku hono httpie httpx httpx2 hypercorn hypercorn-h11 hypercorn-h2 insomnia inspector "
    "istio istio-envoy java java-http-client jetty kestrel koa kong ktor lighttpd litespeed mcp mcp-client mcp- "
    "gateway mcp-inspector mcp-proxy mcp-remote mcp-server microsoft-azure-application-gateway microsoft-httpapi "
    "microsoft-iis mitmproxy mozilla netlify netty next.js nginx node node-fetch node.js okhttp openai openresty "
    "passenger php phusion playwright postman postmanruntime proxy puma python python-aiohttp python-httpx python- "
    "requests python-urllib python-urllib3 quarkus rails railway railway-edge requests reqwest reverse-proxy ruby "
    "rust safari socket.io spring squid starlette supabase symfony tengine tomcat traefik twisted twistedweb tyk "
    "typescript undertow undici unicorn urllib3 uvicorn varnish vercel vert.x vertx vscode waitress webrick werkzeug "
    "wget windsurf zed"
)
"""Names of products, in lower case, that stay without a version."""

BROWSER_COMMENTS: Final = frozenset({"khtml, like gecko", "compatible"})
"""Comments in product tokens that stay: every browser sends them."""

URL_HEADERS: Final = frozenset({"origin", "referer", "location", "content-location", "access-control-allow-origin"})
HEADER_LISTS: Final = frozenset(
    {
        "vary",
        "access-control-allow-headers",
        "access-control-expose-headers",
        "access-control-request-headers",
        "trailer",
    }
)
"""Lists of names of header fields: known names stay."""

HEADER_NAMES: Final = (
    frozenset(WORD_HEADERS)
    | frozenset(NUMBER_HEADERS)
    | frozenset(DATES)
    | PRODUCT_HEADERS
    | URL_HEADERS
    | HEADER_LISTS
    | _words(
        "accept-charset accept-language accept-patch accept-post alt-svc authentication-info authorization cookie "
        "content-disposition content-language content-location content-range content-security-policy "
        "content-security-policy-report-only cross-origin-embedder-policy cross-origin-opener-policy "
        "cross-origin-resource-policy deprecation digest dpop dpop-nonce early-data etag forwarded from host if-match "
        "if-modified-since if-none-match if-range if-unmodified-since last-event-id last-modified link max-forwards "
        "mcp-method mcp-name mcp-protocol-version mcp-session-id mcp-param-method mcp-param-name nel "
        "origin-agent-cluster permissions-policy priority proxy-authorization range referrer-policy report-to "
        "reporting-endpoints sec-ch-ua sec-ch-ua-mobile sec-ch-ua-platform sec-gpc sec-websocket-extensions "
        "sec-websocket-key sec-websocket-protocol sec-websocket-version server-timing set-cookie "
        "strict-transport-security sunset traceparent tracestate baggage b3 warning www-authenticate x-amz-cf-id "
        "x-amz-cf-pop x-amzn-requestid x-amzn-trace-id x-api-key api-key x-auth-token x-b3-traceid x-b3-spanid "
        "x-b3-parentspanid x-b3-sampled x-cache-hits x-client-ip x-cloud-trace-context x-correlation-id x-csrf-token "
        "x-download-options x-envoy-upstream-service-time x-envoy-decorator-operation x-envoy-overloaded "
        "x-envoy-attempt-count x-envoy-expected-rq-timeout-ms x-envoy-external-address x-forwarded-for "
        "x-forwarded-host x-forwarded-port x-forwarded-server x-forwarded-prefix x-forwarded-client-cert "
        "x-frame-options x-github-request-id x-http-method-override x-original-url x-permitted-cross-domain-policies "
        "x-railway-request-id x-real-ip x-render-origin-server x-request-id x-request-start x-requested-with "
        "x-response-time x-robots-tag x-runtime x-served-by x-timer x-trace-id x-vercel-cache x-vercel-id "
        "x-xss-protection cf-ray cf-connecting-ip cf-ipcountry cf-visitor cf-worker cdn-loop fly-request-id "
        "x-kong-proxy-latency x-kong-upstream-latency x-kong-request-id x-mcp-session-id x-mcp-proxy-auth "
        "x-session-id expect-ct ratelimit ratelimit-policy ratelimit-reset x-ratelimit-reset x-ratelimit-used "
        "x-azure-ref x-ms-request-id x-goog-api-key x-powered-by-plesk http2-settings"
    )
)
"""Names of header fields that stay: registered at IANA, of MCP, or of widespread software. Their values do not, unless
one of the tables above says so."""

HEADER_NAME_FAMILIES: Final = (
    "mcp-param-",
    "mcp-",
    "x-envoy-",
    "x-amz-",
    "x-amzn-",
    "x-goog-",
    "x-kong-",
    "sec-",
    "x-",
)
"""Starts of names that are kept of unknown names, because they say whose header it is."""

COOKIE_ATTRIBUTES: Final = _words("path domain secure httponly samesite max-age expires partitioned lax strict none /")
"""Attributes of Set-Cookie (RFC 6265 4.1) and their closed values."""

# --- URLs ---

SCHEMES: Final = _words(
    "http https file ws wss ui chrome-extension moz-extension safari-web-extension vscode-webview vscode-file tauri "
    "capacitor ionic app resource test demo data urn git ssh ftp s3 gs"
)
"""Schemes say what kind of thing is named, not which."""

PATH_WORDS: Final = _words(
    "mcp sse message messages api v1 v2 v3 v4 rpc jsonrpc json stream streamable streamable-http http stateless "
    "stateful server servers client tools prompts resources health healthz ready status ping login signin sign-in "
    "logout authorize oauth oauth2 auth callback token register .well-known oauth-protected-resource "
    "oauth-authorization-server openid-configuration public private rest rpc2 gateway proxy favicon.ico robots.txt "
    "index.html index . .."
)
"""Path segments that stay. A segment may be a credential, a user or a tenant, and no pattern tells."""

QUERY_NAMES: Final = _words(
    "access_token token api_key apikey api-key auth_token authtoken bearer_token id_token refresh_token "
    "key code state session_id sessionid session client_id redirect_uri scope "
    "response_type resource grant_type version transport"
)
"""Names of query parameters that stay: rules look for tokens in queries. Values always go."""

LOOPBACK_HOSTS: Final = _words("localhost 127.0.0.1 [::1] ::1 0.0.0.0 [::] host.docker.internal")
"""Everybody's own machine."""

# --- JSON ---

JSON_RPC_VERSIONS: Final = _words("2.0 1.0 1.1 2 1")

ERROR_WORDS: Final = _words(
    "invalid_request invalid_client invalid_grant invalid_token invalid_scope unauthorized_client "
    "unsupported_grant_type access_denied server_error temporarily_unavailable insufficient_scope"
)
"""OAuth's registered error codes (RFC 6749 11.4.1, RFC 6750 6.2), in bodies of 400, 401 and 403."""

STOP_REASONS: Final = _words("endTurn stopSequence maxTokens toolUse")
ENUMERATED: Final[Mapping[str, frozenset[str]]] = {
    **CLOSED_VOCABULARIES,
    "stopReason": STOP_REASONS,
    "contentEncoding": _words("base64"),
}
"""Member -> words of the schemas that stay there. The schema's errata and redaction share one list."""

FORMATS: Final = _words(
    "date date-time time duration email idn-email hostname idn-hostname ipv4 ipv6 uri uri-reference iri iri-reference "
    "uuid uri-template json-pointer relative-json-pointer regex int32 int64 float double byte binary password"
)
SCHEMA_TYPES: Final = _words("array boolean integer null number object string")
DIALECTS: Final = re.compile(
    r"https?://json-schema\.org/(?:draft/2020-12/schema|draft/2019-09/schema|draft-0[3-7]/schema#?|schema#?)"
)
"""Published meta-schemas."""

AN_HOUR_MS: Final = 3_600_000
A_DAY_MS: Final = 24 * AN_HOUR_MS
A_YEAR_MS: Final = 365 * A_DAY_MS
"""Delays and lifetimes: any number of milliseconds up to a day stays, beyond it whole hours up to a year."""
LARGEST_ID: Final = 999_999
"""Ids of requests and progress tokens are counted up; larger ones are times, random numbers, or anybody's."""
LARGEST_CODE: Final = 99_999
"""Error codes: JSON-RPC's are between -32768 and -32000, HTTP's below 600."""
LARGEST_TOKENS: Final = 9_999_999
LARGEST_BOUND: Final = 999_999
KNOWN_BOUNDS: Final = frozenset(2**bits - less for bits in (31, 32, 53, 63, 64) for less in (0, 1))
"""Bounds in a schema: what people think of, and the ends of machine integers."""

PROTOCOL_NUMBERS: Final[Mapping[str, str]] = {
    "ttlMs": "milliseconds",  # rules ask for its sign, and whether it is whole
    "ttl": "milliseconds",
    "pollInterval": "milliseconds",
    "priority": "share",  # between 0 and 1, which schemas ask for
    "costPriority": "share",
    "speedPriority": "share",
    "intelligencePriority": "share",
    "temperature": "share",
    "maxTokens": "tokens",
}
"""Members whose numbers stay, with what they count (`numbers`). Besides these: error codes, ids, and the progress in
notifications of it, whose order is judged."""

SCHEMA_NUMBERS: Final = _words(
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems minProperties "
    "maxProperties minContains maxContains"
)
"""Bounds in a schema: part of a tool's interface. A changed bound could make a schema invalid."""

KNOWN_SCHEMA_KEYWORDS: Final = SCHEMA_NUMBERS | _words(
    "$schema $id $ref $defs $anchor $dynamicRef $dynamicAnchor $comment $vocabulary definitions type properties "
    "required patternProperties additionalProperties unevaluatedProperties propertyNames items prefixItems "
    "additionalItems unevaluatedItems contains uniqueItems enum const default examples title description format "
    "pattern oneOf anyOf allOf not if then else dependentRequired dependentSchemas dependencies readOnly writeOnly "
    "deprecated nullable contentEncoding contentMediaType contentSchema enumNames x-mcp-header"
)

SENSITIVE_NAMES: Final = _words(
    "password passwd secret token api_key apikey apiKey authorization ssn credential credentials private_key "
    "access_token refresh_token client_secret passphrase pin"
)
"""Names of parameters that a rule warns of. The name is the finding; its value is replaced as any other."""

MEMBER_NAMES: Final = (
    KNOWN_SCHEMA_KEYWORDS
    | SENSITIVE_NAMES
    | frozenset(PROTOCOL_NUMBERS)
    | frozenset(ENUMERATED)
    | _words(
        "jsonrpc id method params result error code message data _meta action annotations argument arguments audience "
        "blob cacheScope call cancel capabilities clientCapabilities clientInfo completion completions content "
        "contents context costPriority create createMessage createdAt cursor description destructiveHint elicitation "
        "elicitationId elicitations execution experimental extensions form hasMore hints icons idempotentHint "
        "includeContext input inputRequests inputResponses inputSchema instructions isError lastModified "
        "lastUpdatedAt level list listChanged logger logging messages metadata mimeType mode model modelPreferences "
        "name nextCursor notifications openWorldHint outputSchema progress progressToken prompts promptsListChanged "
        "protocolVersion readOnlyHint reason ref requestId requestState requested requestedSchema requests "
        "requiredCapabilities resource resourceSubscriptions resourceTemplates resources resourcesListChanged "
        "resultType role roots sampling serverInfo size sizes src status statusMessage stopReason stopSequences "
        "structuredContent subscribe supported supportedVersions systemPrompt task taskId taskSupport tasks text "
        "theme title toolChoice toolUseId tools toolsListChanged total type uri uriTemplate url value values version "
        "websiteUrl error_description error_uri"
    )
)
"""Names of members that stay wherever they occur: those of the MCP schemas, of JSON-RPC, of JSON Schema and of OAuth's
error bodies. A name that stays tells nothing: everybody's arguments have members like these."""

META_KEYS: Final = frozenset(
    f"io.modelcontextprotocol/{name}"
    for name in _words(
        "protocolVersion clientInfo serverInfo clientCapabilities logLevel subscriptionId related-task "
        "model-immediate-response tasks ui oauth-client-credentials enterprise-managed-authorization"
    )
) | _words("progressToken traceparent tracestate baggage")
"""Keys of `_meta` and names of extensions that the specification and its official extensions define."""

LABELLED: Final = _words(
    "title description instructions message statusMessage logger systemPrompt model elicitationId "
    "taskId toolUseId url websiteUrl src uriTemplate value values sizes lastModified createdAt lastUpdatedAt "
    "requestState reason stopSequences size version"
)
"""Members of the MCP schemas whose strings are anybody's. Their names stay, their values go."""

META_PREFIX: Final = "io.modelcontextprotocol/"

PARAMETER_HEADERS: Final = _words("method name")
"""Values of x-mcp-header that stay: rules know them."""

DRAFT_VERSION: Final = re.compile(r"DRAFT-20[2-9][0-9]-v[0-9]{1,2}|draft")
"""Protocol versions are dates since 2024 (basic/lifecycle#version-negotiation), drafts apart. A date of any other year
is not one: it could be somebody's birthday."""

MIME_TYPE: Final = re.compile(r"(?:application|audio|font|image|message|model|multipart|text|video)")

# --- event streams ---

EVENT_TYPES: Final = _words("message endpoint ping error heartbeat keepalive keep-alive open close done")
COMMENTS: Final = _words("ping pong keepalive keep-alive heartbeat hb ok connected open stream-start stream-end")
"""Texts of comments that keep a connection alive."""
MALFORMED_RETRY: Final = re.compile(r"[-+]?[0-9]{1,5}(?:\.[0-9]{1,3})? ?(?:ms|s|sec|seconds)?")
"""Delays that are no number of milliseconds, though somebody meant one."""

# --- names of exchanges ---

EXCHANGE_WORDS: Final = _words(
    "exchange exchanges request requests response responses message messages call calls result results error errors "
    "notification notifications notify event events stream streams session sessions connection connections client "
    "server proxy gateway intermediary upstream downstream relay hop tap side peer host agent user assistant "
    "initialize initialized initialise initialised initialization init inited ping pong list lists listed get gets "
    "post posts put patch delete deleted head options read reads write subscribe subscribed unsubscribe subscription "
    "subscriptions listen listening complete completed completion completions cancel cancelled canceled cancellation "
    "progress discover discovery tool tools prompt prompts resource resources template templates root roots sampling "
    "sample elicit elicitation log logs logging level task tasks create update updated changed change schema metadata "
    "sse json rpc http https mcp batch single chunk chunks split body header headers status version profile protocol "
    "first second third fourth fifth last next previous other others another one two three four five six more rest "
    "all none some both only again twice once repeat repeated replay replayed retry retried reissue resend resent "
    "resume resumed resuming resumption reconnect reconnected reset restart start started begin open opened close "
    "closed closing end ended ending stop stopped bye hello teardown shutdown terminate terminated abort aborted "
    "timeout idle early late before after pre post during while then old new current legacy modern stable draft era "
    "fallback probe preflight poll polled polling push pushed pushes pull page paged pages cursor with without no not "
    "as of to from on in by for and or the an is id ids flag known unknown missing empty null nul valid invalid good "
    "bad wrong right ok fail failed failing failure success successful accepted accept denied refused rejected "
    "rejection discarded dropped lost redirect redirected auth authorize authorized unauthorized token overlap "
    "overlapping concurrent parallel group sequence step phase part test case demo example fixture sample echo add sum "
    "answer answered answers scan write wrote ask asked question input output vouched note notes standalone main "
    "control normal happy path a b c d x y z"
)
"""Words of which names of exchanges may be made: of the protocol, of HTTP, and of telling one from another."""

# --- HTTP ---

HTTP_VERSION: Final = re.compile(r"(?:HTTP/)?[0-9](?:\.[0-9])?")
RESET_CODES: Final = _words(
    "NO_ERROR PROTOCOL_ERROR INTERNAL_ERROR FLOW_CONTROL_ERROR SETTINGS_TIMEOUT STREAM_CLOSED FRAME_SIZE_ERROR "
    "REFUSED_STREAM CANCEL COMPRESSION_ERROR CONNECT_ERROR ENHANCE_YOUR_CALM INADEQUATE_SECURITY HTTP_1_1_REQUIRED "
    "H3_NO_ERROR H3_GENERAL_PROTOCOL_ERROR H3_INTERNAL_ERROR H3_STREAM_CREATION_ERROR H3_CLOSED_CRITICAL_STREAM "
    "H3_FRAME_UNEXPECTED H3_FRAME_ERROR H3_EXCESSIVE_LOAD H3_ID_ERROR H3_SETTINGS_ERROR H3_MISSING_SETTINGS "
    "H3_REQUEST_REJECTED H3_REQUEST_CANCELLED H3_REQUEST_INCOMPLETE H3_MESSAGE_ERROR H3_CONNECT_ERROR "
    "H3_VERSION_FALLBACK ECONNRESET EPIPE ECONNABORTED"
)
"""Registered error codes of HTTP/2 and HTTP/3 (RFC 9113 7, RFC 9114 8.1), and the system's words for a reset."""
RESET_NUMBER: Final = re.compile(r"0x[0-9a-fA-F]{1,4}|[0-9]{1,4}")

REASON_WORDS: Final = EXCHANGE_WORDS | _words(
    "body bodies captured larger than mib kib bytes octets it came faster could judged judge incomplete "
    "coding codings content data behind deflate gzip br zstd malformed more window above mib seen did come its another "
    "addon took file hold does whole tool streamed stored kept keep large small too form have has was were be been "
    "this that browser har entry encoding encoded base64 text size limit recorded recording capture only part "
    "beginning let go after judging memory bounded here shown redacted left out cut which reader what can cannot "
    "unreadable decoded decode charset because compressed exceeds size times time many events unfinished same coded at"
)
"""Words of which reasons are made why a body was not captured. Our own are; others' become `not captured`."""

# --- the interoperability tuple ---

TUPLE_NAMES: Final = _words(
    "client server name version sdk runtime intermediaries endpoint revision http_version tls user_agent "
    "server_software failure_time request_ids reproduction"
)
"""Names of its members. Others are somebody's own."""
