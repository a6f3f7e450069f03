const shownCharacters = 4;

/**
 * A key as people may see it, `sk_causeway_AbCd…wxyz`: enough to tell keys apart, while 35 characters (208 bits)
 * stay unknown.
 */
export const displayKey = (key: string): string => {
  const secretFrom = key.lastIndexOf('_') + 1;
  return `${key.slice(0, secretFrom + shownCharacters)}…${key.slice(-shownCharacters)}`;
};
