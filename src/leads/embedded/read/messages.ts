import type { Lead, LeadQuery } from '../../lead-source.ts';

export interface ReadRequest {
  id: number;
  query: LeadQuery;
}

/** The generation that is searched. */
export interface ServedGeneration {
  generation: string;
  synthetic: boolean;
  profiles: number;
  /** True if another version of Unicode folded its words than the queries. Rare letters may then not be found. */
  isFoldedEarlier: boolean;
}

export type ReadMessage =
  /** Sent first, and after each change of the generation. */
  | { kind: 'serving'; served: ServedGeneration }
  /** A new generation cannot be opened. The former one stays in use. */
  | { kind: 'not-switched'; cause: string }
  | { kind: 'found'; id: number; leads: Lead[] }
  | { kind: 'failed'; id: number; cause: string }
  /** A file is damaged or was never complete. Nothing can be served any more. */
  | { kind: 'damaged'; cause: string };
