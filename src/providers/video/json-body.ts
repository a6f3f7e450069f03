import { randomUUID } from 'node:crypto';
import type { VideoInput } from './video-provider.ts';

/** A file that becomes a data URI in a JSON body. */
export class DataUri {
  readonly contentType: string;
  readonly bytes: Uint8Array;

  constructor(contentType: string, bytes: Uint8Array) {
    this.contentType = contentType;
    this.bytes = bytes;
  }
}

export interface JsonBody {
  lengthBytes: number;
  /** Made when they are read, so that only a slice of a large file is in memory as base64. */
  chunks: AsyncIterable<Uint8Array>;
}

/** Bytes that are encoded at once. A multiple of three, so that the pieces join to one base64 text. */
const sliceBytes = 3 * 65_536;

/** Makes the JSON text of a plain value. Each DataUri in it becomes a text. */
export const createJsonBody = (value: object): JsonBody => {
  const mark = randomUUID();
  const files: DataUri[] = [];
  const text = JSON.stringify(value, (_name, part: unknown) => {
    if (!(part instanceof DataUri)) return part;
    files.push(part);
    return mark;
  });
  const texts = text.split(mark).map((piece) => Buffer.from(piece));
  const textBytes = texts.reduce((sum, piece) => sum + piece.length, 0);
  const fileBytes = files.reduce((sum, file) => sum + head(file).length + base64Length(file), 0);
  return { lengthBytes: textBytes + fileBytes, chunks: join(texts, files) };
};

const head = ({ contentType }: DataUri): string => `data:${contentType};base64,`;

const base64Length = ({ bytes }: DataUri): number => Math.ceil(bytes.length / 3) * 4;

const join = async function* (
  texts: readonly Buffer[],
  files: readonly DataUri[],
): AsyncGenerator<Uint8Array, void, undefined> {
  for (const [index, text] of texts.entries()) {
    yield text;
    const file = files[index];
    if (file === undefined) continue;
    yield Buffer.from(head(file));
    for (let start = 0; start < file.bytes.length; start += sliceBytes)
      yield Buffer.from(Buffer.from(file.bytes.subarray(start, start + sliceBytes)).toString('base64'));
  }
};

/**
 * Makes the `content` parts of inputs, in their order. Images are sent in the request itself, as many as fit into
 * `maxBytes` together; other images, videos and sounds are sent by their address.
 */
export const contentParts = async (
  inputs: readonly VideoInput[],
  { maxBytes, signal }: { maxBytes: number; signal: AbortSignal },
): Promise<Record<string, unknown>[]> => {
  const parts: Record<string, unknown>[] = [];
  let leftBytes = maxBytes;
  for (const input of inputs) {
    const kind = input.contentType.slice(0, input.contentType.indexOf('/'));
    const bytes = kind === 'image' && leftBytes > 0 ? await input.load(signal) : null;
    const isInline = bytes !== null && bytes.length <= leftBytes;
    if (isInline) leftBytes -= bytes.length;
    const url = isInline ? new DataUri(input.contentType, bytes) : input.url;
    parts.push({ type: `${kind}_url`, [`${kind}_url`]: { url }, role: input.role });
  }
  return parts;
};
