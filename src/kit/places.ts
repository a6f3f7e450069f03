/** Places of which nobody gets more than a share. */
export interface Places {
  /**
   * A place for `holder`, as the way to give it back (more than once does no harm); null when there is none now. Who is not
   * known (undefined) has no share to keep to.
   */
  take(holder: string | undefined): (() => void) | null;
}

/** Of all places, for one holder: what is left serves others also while a few want too much. */
const shareOf = (total: number): number => Math.max(1, Math.floor(total / 4));

export const createPlaces = (total: number): Places => {
  const share = shareOf(total);
  const held = new Map<string, number>();
  let taken = 0;

  const count = (holder: string | undefined, change: 1 | -1): void => {
    taken += change;
    if (holder === undefined) return;
    const now = (held.get(holder) ?? 0) + change;
    if (now === 0) held.delete(holder);
    else held.set(holder, now);
  };

  return {
    take: (holder) => {
      const isOver = holder !== undefined && (held.get(holder) ?? 0) >= share;
      if (taken >= total || isOver) return null;
      count(holder, 1);
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        count(holder, -1);
      };
    },
  };
};
