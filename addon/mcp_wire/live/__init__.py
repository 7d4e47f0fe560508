"""The mitmproxy edge: hooks and stream callables become observations, after the bytes have gone on."""
