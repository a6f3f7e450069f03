import type { Clock } from '../kit/clock.ts';
import type { Config } from '../config/config.ts';
import type { JsonObject } from '../kit/json.ts';
import type { Store } from '../store/store.ts';
import type { LeadPlaceName } from './leads/place.ts';
import type { LeadWork } from './leads/session.ts';

/** What a command works with while the store is open. */
export interface Session {
  store: Store;
  clock: Clock;
  brand: string;
  /** The whole configuration of the gateway, its keys included. Rejects with ConfigError or CommandError. */
  config(): Promise<Config>;
  /** Tells people something before the answer is there; it goes to stderr, with --json too. */
  tell(line: string): void;
  /** Writes a part of a long result to stdout, and resolves when it is taken; the answer's `text` is null then. */
  writePart(text: string): Promise<void>;
}

/** What a command has to say. */
export interface Answer {
  /** The document that --json prints. */
  json: JsonObject;
  /** The same for people, without a line break at the end; null: it is written already. */
  text: string | null;
  /** A word to people beside the result; it goes to stderr, so that the result alone can be captured. */
  remark?: string;
  /** 1 when what was looked at is not in order; 2 when nothing was done, as a word is missing. Default 0. */
  exitCode?: 0 | 1 | 2;
}

export type Work = (session: Session) => Promise<Answer>;

/** What the definitions of commands need of the command line around them. */
export interface CommandContext {
  /** Opens the store, does the work, closes the store and prints the answer. Throws CommandError. */
  run(work: Work): Promise<void>;
  /** The same, but makes an embedded store where there is none yet. */
  runCreating(work: Work): Promise<void>;
  /** Reads the whole configuration and opens nothing. Throws CommandError where there is no store yet. */
  runOnConfig(work: (config: Config) => Promise<Answer>): Promise<void>;
  /** Opens what keeps the profiles, and not the store. With `isNewAllowed` it is made where there is none yet. */
  runOnLeads(place: { to: LeadPlaceName | undefined; isNewAllowed?: true }, work: LeadWork): Promise<void>;
}
