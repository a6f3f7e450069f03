/** Returns bytes as text, one character each; shorter at the end of the bytes. */
export const textAt = (bytes: Uint8Array, start: number, end: number): string =>
  String.fromCharCode(...bytes.subarray(start, end));
