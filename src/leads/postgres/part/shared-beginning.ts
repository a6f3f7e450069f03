/** How many units the longest beginning has that two texts share; never ends within a character of two units. */
export const sharedBeginning = (one: string, other: string): number => {
  const most = Math.min(one.length, other.length);
  let units = 0;
  while (units < most && one.charCodeAt(units) === other.charCodeAt(units)) units += 1;
  const last = units === 0 ? 0 : one.charCodeAt(units - 1);
  return last >= 0xd800 && last <= 0xdbff ? units - 1 : units;
};
