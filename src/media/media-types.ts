const extensions = new Map([
  ['image/png', 'png'],
  ['image/jpeg', 'jpg'],
  ['image/webp', 'webp'],
  ['video/mp4', 'mp4'],
  ['video/quicktime', 'mov'],
  ['audio/mpeg', 'mp3'],
  ['audio/wav', 'wav'],
]);

/** Returns the file name extension of a content type, without a dot; null for a type that is not stored. */
export const extensionOf = (contentType: string): string | null => extensions.get(contentType) ?? null;
