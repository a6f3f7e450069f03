import type { Suite } from './suite.ts';

/** What a check cannot do without: a service, a SKU of a kind, or something that the command line was given. */
export type Need =
  | 'image'
  | 'chat'
  | 'video'
  | 'videos'
  | 'search'
  | 'mcp'
  | 'sandbox'
  | 'other_key'
  | 'poor_key'
  | 'webhook'
  | 'deadline'
  | 'rate_limit';

/** One rule of the contract, asked of a server from outside. */
export interface Check {
  /** Of the rule in docs/contract.md. */
  id: string;
  title: string;
  needs?: readonly Need[];
  /** Runs alone, after all others: it uses up a limit that they live on. */
  isExclusive?: boolean;
  /** Ends when the server keeps the rule; throws Mismatch when it does not. */
  run(suite: Suite): Promise<void>;
}

/** The server broke the rule; the message says what was seen. */
export class Mismatch extends Error {
  override readonly name = 'Mismatch';
}

/** The rule could not be looked at; the message says why. */
export class Skipped extends Error {
  override readonly name = 'Skipped';
}
