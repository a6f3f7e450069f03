import type { Need, Suite } from './suite.ts';

/** One rule of the contract, checked from outside. */
export interface Check {
  /** The id of a rule in test/contract/rules.md. */
  id: string;
  title: string;
  needs?: readonly Need[];
  /** Runs alone, after all others, because it uses up a limit that they need. */
  isExclusive?: boolean;
  /** Resolves if the server keeps the rule. Throws Mismatch if it does not. */
  run(suite: Suite): Promise<void>;
}
