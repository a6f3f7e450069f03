const longestShown = 60;

/** Control, invisible and direction-changing characters, and all line ends. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

const escaped = (character: string): string =>
  `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`;

const asText = (value: unknown): string => {
  switch (typeof value) {
    case 'string':
      return `"${value.slice(0, longestShown)}"`;
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value);
    case 'object':
      if (value === null) return 'null';
      if (Array.isArray(value)) return 'a list';
      return value instanceof Date ? 'a date' : 'an object';
    case 'undefined':
      return 'nothing';
    case 'symbol':
    case 'function':
      return `a ${typeof value}`;
  }
};

/** Formats an input value for a message: printable, on one line, at most 60 of its characters. */
export const shownValue = (value: unknown): string => {
  const text = asText(value).toWellFormed().replace(unprintable, escaped);
  const isWhole =
    text.length <= longestShown + 2 && !(typeof value === 'string' && value.length > longestShown);
  return isWhole ? text : `${text.slice(0, longestShown)}…${text.startsWith('"') ? '"' : ''}`;
};
