/** The generation that is searched. */
export interface ServedGeneration {
  generation: string;
  synthetic: boolean;
  profiles: number;
  /** Whether its words were folded by another version of Unicode than queries are: rare letters may not be found. */
  isFoldedEarlier: boolean;
}

export type ReadEvent =
  /** The first event, and sent whenever another generation is searched from now on. */
  | { kind: 'serving'; served: ServedGeneration }
  /** A new generation cannot be opened; the one before is searched on. */
  | { kind: 'not-switched'; cause: string }
  /** A file proved damaged, or was never whole; nothing can be served any more. */
  | { kind: 'damaged'; cause: string };
