/** Yields the data of server-sent events, until `[DONE]` or the end. */
export const readEvents = async function* (answer: Response): AsyncGenerator<string, void, undefined> {
  if (answer.body === null) return;
  let rest = '';
  for await (const text of readTexts(answer.body)) {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const lines = block.split('\n').filter((line) => line.startsWith('data: '));
      const data = lines.map((line) => line.slice('data: '.length)).join('\n');
      if (data === '[DONE]') return;
      if (data !== '') yield data;
    }
  }
};

const readTexts = async function* (
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<string, void, undefined> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel();
  }
};
