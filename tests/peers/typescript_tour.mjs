// What a client of either TypeScript SDK does on our own servers, and what it saw.

export const textOf = (result) =>
  result.content.filter((block) => block.type === "text").map((block) => block.text).join(" ");

export async function tour({ client, call }) {
  const saw = {};
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  saw.tools = tools.sort();
  saw.resources = (await client.listResources()).resources.length;
  saw.prompts = (await client.listPrompts()).prompts.map((prompt) => prompt.name).sort();
  saw.echo = textOf(await call("echo", { text: "naïve 文字 \u2028 one line" }));
  const steps = [];
  const counted = await call("count", { to: 3 }, { onprogress: (progress) => steps.push(progress.progress) });
  saw.count = textOf(counted);
  saw.steps = steps;
  if (tools.includes("poll")) saw.poll = textOf(await call("poll", {}));
  if (tools.includes("ask")) saw.ask = textOf(await call("ask", {}));
  saw.failed = (await call("fail", { secret: "s3cret" })).isError === true;
  saw.greeting = (await client.readResource({ uri: "memo://greeting" })).contents.map((item) => item.text);
  await client.getPrompt({ name: "ask", arguments: { topic: "tea" } });
  const together = await Promise.all([2, 3].map((to) => call("count", { to })));
  saw.together = together.map(textOf);
  return saw;
}
