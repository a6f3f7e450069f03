/** Far above any sane request, and cheap to check and to hash. */
const maxValues = 50_000;
const maxDepth = 64;

/**
 * Says why `value` (parsed JSON) is too large or too deep; null if it is not. Later steps recurse into the value and
 * report on each member. The cost of this check is limited for any value.
 */
export const jsonExcess = (value: unknown): string | null => {
  let left = maxValues;
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) return `nested deeper than ${maxDepth} levels`;
    left -= level.length;
    const next: unknown[] = [];
    for (const member of level) {
      if (typeof member !== 'object' || member === null) continue;
      const members = Array.isArray(member) ? member : Object.values(member);
      if (members.length + next.length > left) return `more than ${maxValues} values`;
      for (const inner of members) next.push(inner);
    }
    level = next;
  }
  return null;
};
