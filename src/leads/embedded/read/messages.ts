import type { Lead, LeadQuery } from '../../lead-source.ts';

export interface ReadRequest {
  id: number;
  query: LeadQuery;
}

export type ReadMessage =
  | { kind: 'opened'; synthetic: boolean; profiles: number }
  | { kind: 'found'; id: number; leads: Lead[] }
  | { kind: 'failed'; id: number; cause: string }
  /** The file proved damaged; nothing of it can be served any more. */
  | { kind: 'damaged'; cause: string };
