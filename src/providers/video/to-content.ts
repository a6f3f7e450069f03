import { imageContentType } from '../image/input-image-type.ts';
import { videoContentType } from './video-content-type.ts';
import type { VideoContent } from './video-provider.ts';

/** The bytes that are enough to tell a type. */
const headBytes = 12;

/** Reads the type of a file from its first bytes. Returns null for a file of another kind, and reads no more of it. */
export const toContent = async (
  part: 'video' | 'last_frame',
  body: AsyncIterable<Uint8Array>,
): Promise<VideoContent | null> => {
  const chunks = body[Symbol.asyncIterator]();
  const head: Uint8Array[] = [];
  let bytes = 0;
  while (bytes < headBytes) {
    const next = await chunks.next();
    if (next.done === true) break;
    head.push(next.value);
    bytes += next.value.length;
  }
  const first = Buffer.concat(head);
  const contentType = part === 'video' ? videoContentType(first) : imageContentType(first);
  if (contentType === null) {
    await chunks.return?.();
    return null;
  }
  return { contentType, body: continued(first, chunks) };
};

const continued = async function* (
  first: Uint8Array,
  chunks: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield first;
    for (;;) {
      const next = await chunks.next();
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await chunks.return?.();
  }
};
