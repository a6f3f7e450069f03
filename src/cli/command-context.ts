import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { Config } from '../config/config.ts';
import type { Clock } from '../kit/clock.ts';
import type { LeadKeeper } from '../leads/lead-keeper.ts';
import type { ForgetUpstream } from '../leads/upstream/forget-upstream.ts';
import type { Verb, OperatorServices } from '../operator/verb.ts';
import type { OperatorCall } from '../operator/run-verb.ts';
import type { LeadPlace } from './leads/place.ts';

interface BaseSession {
  clock: Clock;
  /** Prints a line for people before the answer is ready. It goes to stderr, with --json too. */
  tell(line: string): void;
  /** Writes a part of a long result to stdout. Resolves when it is written; the answer's `text` is null then. */
  writePart(text: string): Promise<void>;
}

/** The services of a command while the store is open. */
export interface Session extends BaseSession, OperatorServices {
  /** The user of the operating system, with all rights. */
  caller: OperatorCall;
  /** Runs an operation as the user. Rejects with AppError. */
  operate<Fields extends z.ZodRawShape, Output extends object>(
    operation: Verb<Fields, Output>,
    input: z.input<z.ZodObject<Fields>>,
  ): Promise<Output>;
}

/** Writes progress to stderr. */
export interface ProgressOutput {
  /** Whether a line can be overwritten. */
  isTerminal: boolean;
  write(text: string): void;
}

/** The services of a command on profiles while their keeper is open. */
export interface LeadSession extends BaseSession {
  keeper: LeadKeeper;
  place: LeadPlace;
  /** Makes a change with a row in the audit log. Without a store on this machine there is no log. */
  audited<T>(row: { operation: string; input: object }, change: () => Promise<T>): Promise<T>;
  forgetUpstream: ForgetUpstream;
  /** Null with --json: no progress is shown. */
  progressOutput: ProgressOutput | null;
  stdin(): Readable;
  /** Whether the reader of stdout has closed it, so that writing can end. */
  isReaderGone(): boolean;
}

/** The result of a command. */
export interface Answer {
  /** The document that --json prints: the answer of an operation, or one like it. */
  json: object;
  /** The same for people, without a final line break; null if it was written with `writePart`. */
  text: string | null;
  /** A note for people beside the result. It goes to stderr, so that stdout has the result alone. */
  remark?: string | undefined;
  /** 1: a check found a problem, or a result is not final. 2: nothing was done because a confirmation is missing. Default 0. */
  exitCode?: 0 | 1 | 2;
}

/** Runs the work of commands and prints their answers. Every method throws CommandError. */
export interface CommandContext {
  /** Opens the store and closes it after the work. `isNewAllowed` creates a missing embedded store. */
  run(work: (session: Session) => Promise<Answer>, options?: { isNewAllowed?: true }): Promise<void>;
  /** Opens nothing, and loads the whole configuration when the work asks for it. */
  runOnConfig(work: (config: () => Promise<Config>) => Promise<Answer>): Promise<void>;
  /** Opens the keeper of the profiles, not the store. `isNewAllowed` creates a missing embedded index. */
  runOnLeads(
    options: { isNewAllowed?: true | undefined },
    work: (session: LeadSession) => Promise<Answer>,
  ): Promise<void>;
}
