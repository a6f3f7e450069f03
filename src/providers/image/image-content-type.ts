/** Returns the type of an image by its first bytes; null unless it is PNG, JPEG or WebP. */
export const imageContentType = (bytes: Uint8Array): string | null => {
  if (startsWith(bytes, 0, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])) return 'image/png';
  if (startsWith(bytes, 0, [0xff, 0xd8, 0xff])) return 'image/jpeg';
  const isRiff = startsWith(bytes, 0, [0x52, 0x49, 0x46, 0x46]);
  return isRiff && startsWith(bytes, 8, [0x57, 0x45, 0x42, 0x50]) ? 'image/webp' : null;
};

const startsWith = (bytes: Uint8Array, offset: number, magic: readonly number[]): boolean =>
  magic.every((byte, index) => bytes[offset + index] === byte);
