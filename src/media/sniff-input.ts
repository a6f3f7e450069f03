import { inputImageType } from '../providers/image/input-image-type.ts';
import { audioContentType, videoContentType } from '../providers/video/content-type.ts';

export type InputKind = 'image' | 'video' | 'audio';

/** The types of a kind, for the text of a refusal. */
const kindNames: Record<InputKind, string> = {
  image: 'PNG, JPEG, WebP, GIF or AVIF image',
  video: 'MP4 or MOV video',
  audio: 'MP3 or WAV audio file',
};

const contentTypeOf: Record<InputKind, (bytes: Uint8Array) => string | null> = {
  image: inputImageType,
  video: videoContentType,
  audio: audioContentType,
};

/** This number of first bytes identifies every type. */
export const sniffedBytes = 4_096;

/** Identifies the kind and type of a file by its first bytes; null if it is none of `kinds`. */
export const sniffInput = (
  bytes: Uint8Array,
  kinds: readonly InputKind[],
): { kind: InputKind; contentType: string } | null => {
  for (const kind of kinds) {
    const contentType = contentTypeOf[kind](bytes);
    if (contentType !== null) return { kind, contentType };
  }
  return null;
};

/** Names the expected types, as in "a PNG, JPEG, WebP, GIF or AVIF image". */
export const expectedInput = (kinds: readonly InputKind[]): string =>
  kinds.map((kind) => `${kind === 'image' ? 'a' : 'an'} ${kindNames[kind]}`).join(' or ');

/** Other names of the types. */
const aliases = new Map([
  ['image/jpg', 'image/jpeg'],
  ['image/pjpeg', 'image/jpeg'],
  ['image/x-png', 'image/png'],
  ['application/mp4', 'video/mp4'],
  ['video/x-m4v', 'video/mp4'],
  ['audio/mp3', 'audio/mpeg'],
  ['audio/x-mpeg', 'audio/mpeg'],
  ['audio/wave', 'audio/wav'],
  ['audio/x-wav', 'audio/wav'],
  ['audio/vnd.wave', 'audio/wav'],
]);

/** Declared types that may contain anything. */
const genericTypes = new Set(['', 'application/octet-stream', 'binary/octet-stream']);

/** MP4 and MOV are one format with two names, which many servers confuse. */
const isoMedia = new Set(['video/mp4', 'video/quicktime']);

/** Tells whether the bytes' type fits the declared content type, which may have parameters or be null. */
export const isDeclaredRight = (declared: string | null, contentType: string): boolean => {
  const [essence = ''] = (declared ?? '').split(';');
  const name = essence.trim().toLowerCase();
  if (genericTypes.has(name)) return true;
  const canonical = aliases.get(name) ?? name;
  return canonical === contentType || (isoMedia.has(canonical) && isoMedia.has(contentType));
};
