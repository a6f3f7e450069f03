/** Makes a matcher of paths. It returns the fields that stand in braces in `template`, decoded; null for another path. */
export const createPathMatcher = (template: string): ((path: string) => Record<string, string> | null) => {
  const pattern = new RegExp(`^${template.replace(/\{(\w+)\}/g, '(?<$1>[^/?#]+)')}$`);
  return (path) => {
    const match = pattern.exec(path);
    if (match === null) return null;
    return Object.fromEntries(Object.entries(match.groups ?? {}).map(([name, text]) => [name, decode(text)]));
  };
};

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not a percent-encoding: the text as it stands is an id that does not exist.
    return text;
  }
};
