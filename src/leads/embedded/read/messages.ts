import type { LeadFacets } from '../../lead-source.ts';

export interface ServedGeneration {
  generation: string;
  synthetic: boolean;
  profiles: number;
  facets: LeadFacets;
  /** False if another version of Unicode folded its words than the queries. Rare letters may then not be found. */
  isFoldedAlike: boolean;
}

export type ReadEvent =
  /** The first event, and sent whenever another generation is searched from now on. */
  | { kind: 'serving'; served: ServedGeneration }
  /** A new generation cannot be opened. The former one stays in use. */
  | { kind: 'not-switched'; cause: string }
  /** A file proved damaged, or was never whole; nothing can be served any more. */
  | { kind: 'damaged'; cause: string };
