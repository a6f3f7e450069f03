/** Parses JSON text in UTF-8, with or without a byte order mark; undefined when it is no JSON. */
export const parseJson = (bytes: Uint8Array): unknown => {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
};
