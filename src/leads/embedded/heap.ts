/** A binary heap: the item that comes before all others is on top. */
export const createHeap = <T>(items: readonly T[], isBefore: (one: T, other: T) => boolean) => {
  const heap = [...items];

  /** Moves the item at `start` down to its place. */
  const sink = (start: number): void => {
    const moved = heap[start];
    if (moved === undefined) return;
    let place = start;
    for (;;) {
      let next = 2 * place + 1;
      let child = heap[next];
      if (child === undefined) break;
      const right = heap[next + 1];
      if (right !== undefined && isBefore(right, child)) {
        next += 1;
        child = right;
      }
      if (!isBefore(child, moved)) break;
      heap[place] = child;
      place = next;
    }
    heap[place] = moved;
  };
  for (let place = Math.floor(heap.length / 2) - 1; place >= 0; place -= 1) sink(place);

  return {
    top: (): T | undefined => heap[0],
    /** Call it when the top item has changed. It moves to its place, or goes if `isOver`. */
    replaceTop: (isOver: boolean): void => {
      const last = isOver ? heap.pop() : undefined;
      if (last !== undefined && heap.length > 0) heap[0] = last;
      sink(0);
    },
  };
};
