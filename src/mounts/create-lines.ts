/** The start and the end of a line that is longer than the most. */
export interface LongLine {
  start: string;
  end: string;
}

const endBytes = 64;

/**
 * Returns a function that takes chunks of bytes and calls `onLine` for each line that has more than spaces. Of a line of
 * more than `maxBytes` only the start and the end are kept, for `onLong`. `onFlood` is called once for a line without end,
 * of more than 32 times as many bytes.
 */
export const createLines = ({
  maxBytes,
  onLine,
  onLong,
  onFlood,
}: {
  maxBytes: number;
  onLine: (line: string) => void;
  onLong: (line: LongLine) => void;
  onFlood: () => void;
}): ((chunk: Buffer) => void) => {
  const floodBytes = 32 * maxBytes;
  let parts: Buffer[] = [];
  let end: Buffer = Buffer.alloc(0);
  let length = 0;
  const add = (part: Buffer): void => {
    const kept = part.subarray(0, Math.max(0, maxBytes - length));
    if (kept.length > 0) parts.push(kept);
    end = Buffer.concat([end, part.subarray(-endBytes)]).subarray(-endBytes);
    if (length <= floodBytes && length + part.length > floodBytes) onFlood();
    length += part.length;
  };
  const finish = (): void => {
    const line = Buffer.concat(parts).toString();
    if (length > maxBytes) onLong({ start: line, end: end.toString() });
    else if (line.trim() !== '') onLine(line);
    parts = [];
    end = Buffer.alloc(0);
    length = 0;
  };
  return (chunk) => {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      add(chunk.subarray(from, at));
      finish();
      from = at + 1;
    }
    add(chunk.subarray(from));
  };
};
