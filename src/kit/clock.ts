/** The time in whole milliseconds since 1970. Injected, so that tests can change it. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** Formats a timestamp for an answer: ISO 8601 in UTC. */
export const toIso = (epochMs: number): string => new Date(epochMs).toISOString();

export const isoOrNull = (epochMs: number | null): string | null =>
  epochMs === null ? null : toIso(epochMs);
