/** Returns the first sentence of a text; the whole text when it has no end. */
export const firstSentence = (text: string): string => /^.*?[.](?=\s|$)/s.exec(text)?.[0] ?? text;
