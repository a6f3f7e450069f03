/** The time, in whole milliseconds since 1970; injected so that tests can move it. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** A timestamp as every answer carries it. */
export const toIso = (epochMs: number): string => new Date(epochMs).toISOString();

export const isoOrNull = (epochMs: number | null): string | null =>
  epochMs === null ? null : toIso(epochMs);
