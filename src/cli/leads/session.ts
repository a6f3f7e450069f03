import type { Clock } from '../../kit/clock.ts';
import type { FileLeadInput, LeadInputOptions } from '../../leads/import/input-options.ts';
import type { LeadKeeper } from '../../leads/lead-keeper.ts';
import type { Answer, Session } from '../command-context.ts';
import type { LeadPlace } from './place.ts';

/** What opens the parts that a command on profiles works with; the process's own by default. */
export interface LeadTools {
  /** Rejects with LeadKeeperError. */
  openKeeper(place: LeadPlace): Promise<LeadKeeper>;
  /** How many people are forgotten in the embedded index of this folder. */
  countForgotten(folder: string): Promise<number>;
  /** Rejects with LeadInputError. */
  openInput(options: LeadInputOptions): Promise<FileLeadInput>;
}

/** What commands on profiles need of the process. */
export interface LeadSurroundings {
  writeError: (text: string) => void;
  /** Whether `writeError` writes to a terminal, where a line can be written over; absent: no. */
  isErrorTerminal?: boolean;
  /** Whether whoever reads what is written to stdout has gone; absent: never. */
  isReaderGone?: () => boolean;
  /** Absent: nothing comes. */
  stdin?: () => NodeJS.ReadableStream;
  /** In place of the process's own. */
  leadTools?: LeadTools;
}

/** Standard error, as far as progress is shown there. */
export interface ProgressOutput {
  /** Whether a line can be written over. */
  isTerminal: boolean;
  write(text: string): void;
}

/** What a command on profiles works with while their keeper is open. */
export interface LeadSession
  extends Pick<Session, 'tell' | 'writePart'>, Pick<LeadTools, 'openInput' | 'countForgotten'> {
  keeper: LeadKeeper;
  place: LeadPlace;
  clock: Clock;
  /** Null: nobody is to be shown any. */
  progressOutput: ProgressOutput | null;
  stdin(): NodeJS.ReadableStream;
  /** Whether whoever reads stdout has gone, so that nothing more needs to be written there. */
  isReaderGone(): boolean;
}

export type LeadWork = (session: LeadSession) => Promise<Answer>;
