import { untilAborted } from '../../kit/until-aborted.ts';

/**
 * Yields the source in parts of exactly `partBytes`; the last part may be shorter. Keeps only one part in memory at a
 * time.
 */
export const chunkStream = async function* (
  source: Uint8Array | AsyncIterable<Uint8Array>,
  { partBytes, signal }: { partBytes: number; signal: AbortSignal },
): AsyncGenerator<Uint8Array> {
  if (source instanceof Uint8Array) {
    for (let start = 0; start < source.byteLength; start += partBytes)
      yield source.subarray(start, start + partBytes);
    return;
  }
  let part: Buffer | null = null;
  let filled = 0;
  for await (const chunk of untilAborted(source, signal)) {
    for (let taken = 0; taken < chunk.byteLength;) {
      // Untouched memory costs nothing, so a small medium does not need the memory of a whole part.
      part ??= Buffer.allocUnsafeSlow(partBytes);
      const piece = chunk.subarray(taken, taken + partBytes - filled);
      part.set(piece, filled);
      taken += piece.byteLength;
      filled += piece.byteLength;
      if (filled < partBytes) continue;
      yield part;
      part = null;
      filled = 0;
    }
  }
  if (part !== null) yield part.subarray(0, filled);
};
