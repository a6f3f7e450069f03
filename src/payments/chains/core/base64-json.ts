/** Encodes a value as base64 of its JSON, as every x402 header carries it. */
export const encodeBase64Json = (value: unknown): string =>
  Buffer.from(JSON.stringify(value), 'utf8').toString('base64');

const base64Pattern = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** Decodes base64 (plain or URL-safe) of JSON. Throws SyntaxError or TypeError for any other text. */
export const decodeBase64Json = (text: string): unknown => {
  if (!base64Pattern.test(text)) throw new SyntaxError('not base64');
  const bytes = Buffer.from(text, 'base64');
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
};
