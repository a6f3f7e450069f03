const maxResponseBytes = 1024 ** 2;

/** The text of an answer of at most 1 MiB. Throws RangeError for a longer one. */
export const readLimited = async (response: Response): Promise<string> => {
  if (response.body === null) return '';
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.byteLength;
    if (size > maxResponseBytes) throw new RangeError('the answer is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};
