import type { Need, Suite } from './suite.ts';

/** One rule of the contract, asked of a server from outside. */
export interface Check {
  /** The id of a rule in docs/contract.md. */
  id: string;
  title: string;
  needs?: readonly Need[];
  /** Runs alone, after all others: it uses up a limit that they live on. */
  isExclusive?: boolean;
  /** Ends when the server keeps the rule; throws Mismatch when it does not. */
  run(suite: Suite): Promise<void>;
}
