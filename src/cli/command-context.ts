import type { Clock } from '../clock.ts';
import type { ModelConfig } from '../config.ts';
import type { JsonObject } from '../json.ts';
import type { Store } from '../store/store.ts';

/** What a command works with while the store is open. */
export interface Session {
  store: Store;
  clock: Clock;
  brand: string;
  /** The SKUs of the gateway, by its whole configuration. Throws ConfigError or CommandError. */
  models(): readonly ModelConfig[];
}

/** What a command has to say. */
export interface Answer {
  /** The document that --json prints. */
  json: JsonObject;
  /** The same for people, without a line break at the end. */
  text: string;
  /** A word to people beside the result; it goes to stderr, so that the result alone can be captured. */
  remark?: string;
  /** 1 when what was looked at is not in order. Default 0. */
  exitCode?: 0 | 1;
}

export type Work = (session: Session) => Promise<Answer>;

/** What the definitions of commands need of the command line around them. */
export interface CommandContext {
  /** Opens the store, does the work, closes the store and prints the answer. Throws CommandError. */
  run(work: Work): Promise<void>;
  /** The same, but makes an embedded store where there is none yet. */
  runCreating(work: Work): Promise<void>;
}
