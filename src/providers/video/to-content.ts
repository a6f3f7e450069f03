import { peekStream } from '../../kit/peek-stream.ts';
import { imageContentType } from '../image/input-image-type.ts';
import { videoContentType } from './content-type.ts';
import type { VideoContent } from './video-provider.ts';

/** The bytes that are enough to tell a type. */
const headBytes = 12;

/** Reads the type of a file from its first bytes. Returns null for a file of another kind, and reads no more of it. */
export const toContent = async (
  part: 'video' | 'last_frame',
  source: AsyncIterable<Uint8Array>,
): Promise<VideoContent | null> => {
  const { head, body, close } = await peekStream(source, headBytes);
  const contentType = part === 'video' ? videoContentType(head) : imageContentType(head);
  if (contentType !== null) return { contentType, body };
  await close();
  return null;
};
