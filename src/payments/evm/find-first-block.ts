/**
 * The first block of which something holds that holds from then on: not of `after`, and of `upTo`. Asks about the blocks
 * between, halving what is left; throws what `holds` throws.
 */
export const findFirstBlock = async (
  { after, upTo }: { after: bigint; upTo: bigint },
  holds: (block: bigint) => Promise<boolean>,
): Promise<bigint> => {
  let before = after;
  let first = upTo;
  while (first - before > 1n) {
    const middle = (before + first) / 2n;
    if (await holds(middle)) first = middle;
    else before = middle;
  }
  return first;
};
