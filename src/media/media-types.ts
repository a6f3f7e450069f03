/** The types that are kept, with the extensions of their file names. */
const extensions = new Map([
  ['image/png', 'png'],
  ['image/jpeg', 'jpg'],
  ['image/webp', 'webp'],
  ['video/mp4', 'mp4'],
  ['video/quicktime', 'mov'],
  ['audio/mpeg', 'mp3'],
  ['audio/wav', 'wav'],
]);

/** The extension of a file of this type, without a dot; null for a type that is not kept. */
export const extensionOf = (contentType: string): string | null => extensions.get(contentType) ?? null;
