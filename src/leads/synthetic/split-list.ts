export const splitList = (text: string): [string, ...string[]] => {
  const [first = '', ...rest] = text.split(',').map((item) => item.trim());
  return [first, ...rest];
};
