import { Readable } from 'node:stream';
import { loadConfig, loadHttpLeads } from '../config/load-config.ts';
import type { Environment } from '../config/read-variables.ts';
import { systemClock } from '../kit/clock.ts';
import { silentLog } from '../kit/log.ts';
import { userName } from '../kit/process.ts';
import { moveForgottenLists } from '../leads/move-forgotten-list.ts';
import { openLeadIndex } from '../leads/open-lead-index.ts';
import type { LeadIndex } from '../leads/lead-index.ts';
import { createForgetUpstream } from '../leads/upstream/forget-upstream.ts';
import { audited, runVerb, type OperatorCall } from '../operator/run-verb.ts';
import { openStore } from '../store/open-store.ts';
import type { Answer, LeadSession, RunCommand, Session, Streams } from './command.ts';
import { isHelpShown, toCommandError, type CommandError } from './command-error.ts';
import {
  assertDataExists,
  assertPlaceExists,
  hasData,
  readAuditPlace,
  readLeadPlace,
  readStorePlace,
  type LeadPlace,
} from './place.ts';
import { createProgram, type GlobalOptions } from './program.ts';

/** Its streams are by default an empty stdin, and a stdout that is written with `write` and stays open. */
export interface CommandLine extends Partial<Streams> {
  /** The arguments after the program's name. */
  args: readonly string[];
  environment: Environment;
  write: (text: string) => void;
  writeError: (text: string) => void;
  /** Whether `writeError` writes to a terminal, where a line can be overwritten. Default false. */
  isErrorTerminal?: boolean;
  openKeeper?: (place: LeadPlace) => Promise<LeadIndex>;
}

/** Needs no parsing, so that a usage error is printed as JSON too. */
const hasJsonOption = (args: readonly string[]): boolean => {
  const end = args.indexOf('--');
  return (end === -1 ? args : args.slice(0, end)).includes('--json');
};

/** Prints answers and errors: for people, or as one JSON document. */
const createPrinter = ({ write, writeError }: CommandLine, isJson: boolean) => {
  let isPrinted = false;
  const printJson = (document: object): void => {
    isPrinted = true;
    write(`${JSON.stringify(document, null, 2)}\n`);
  };
  return {
    answer: ({ json, text, remark }: Answer): void => {
      if (isJson) return printJson(json);
      if (text !== null) write(`${text}\n`);
      if (remark !== undefined) writeError(`${remark}\n`);
    },
    // Closing the store can fail after the answer, and stdout carries one document only.
    error: ({ code, message }: CommandError): void =>
      isJson && !isPrinted ? printJson({ error: { code, message } }) : writeError(`causeway: ${message}\n`),
  };
};

/** Takes over the lists of earlier versions before, as no gateway may have been started yet. */
const openPlace = (place: LeadPlace): Promise<LeadIndex> =>
  openLeadIndex(place, (store) => moveForgottenLists(place, store));

const here = { log: silentLog, inThisThread: true } as const;

/** Opens the data that the session of a command asks for. `options`: those of every command. */
const createSession = (
  { environment, write, writeError, ...commandLine }: CommandLine,
  isJson: boolean,
  options: () => GlobalOptions,
) => {
  const opened: { close(): Promise<void> }[] = [];
  const opens = <T extends { close(): Promise<void> }>(one: T): T => {
    opened.push(one);
    return one;
  };
  const actor = `cli:${userName()}`;
  const caller: OperatorCall = { actor, actorLabel: null, role: 'write', requestId: null };
  const clock = systemClock;
  const config = () => loadConfig(environment, options());
  const withAudit: LeadSession['audited'] = async (row, change) => {
    const { brand: _brand, ...place } = readAuditPlace(environment, options());
    if (!hasData(place)) return change();
    const store = await openStore(place, here);
    try {
      return await audited(row, caller, { clock, store }, change);
    } finally {
      await store.close();
    }
  };
  const session: Session = {
    clock,
    isJson,
    tell: (line) => writeError(`${line}\n`),
    writePart: commandLine.writePart ?? (async (text) => write(text)),
    progressOutput: { isTerminal: commandLine.isErrorTerminal ?? false, write: writeError },
    stdin: commandLine.stdin ?? (() => Readable.from([])),
    isReaderGone: commandLine.isReaderGone ?? (() => false),
    config,
    openStore: async ({ isNewAllowed = false } = {}) => {
      const { brand, ...place } = readStorePlace(environment, options());
      if (!isNewAllowed) assertDataExists(place);
      const store = opens(await openStore(place, here));
      const services = { clock, store, brand, config };
      return { ...services, operate: (verb, input) => runVerb(verb, async () => input, caller, services) };
    },
    openProfiles: async ({ isNewAllowed = false } = {}) => {
      const place = readLeadPlace(environment, options());
      if (!isNewAllowed) assertPlaceExists(place);
      const keeper = opens(await (commandLine.openKeeper ?? openPlace)(place));
      const readSource = () => loadHttpLeads(environment, options());
      return { keeper, place, audited: withAudit, forgetUpstream: createForgetUpstream(readSource) };
    },
  };
  const close = async (): Promise<void> => {
    for (const one of opened) await one.close();
  };
  return { session, close };
};

/** Runs one command, prints its answer or error and resolves with the exit code (see the table of CommandError). */
export const runCommandLine = async (commandLine: CommandLine): Promise<number> => {
  const { args, write, writeError } = commandLine;
  const isJson = hasJsonOption(args);
  const printer = createPrinter(commandLine, isJson);
  let exitCode = 0;
  const runCommand: RunCommand = async (work) => {
    const { session, close } = createSession(commandLine, isJson, () => program.opts<GlobalOptions>());
    try {
      const answer = await work(session);
      printer.answer(answer);
      exitCode = answer.exitCode ?? 0;
    } finally {
      await close();
    }
  };
  const program = createProgram(runCommand, { write, writeError: isJson ? () => {} : writeError });

  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (isHelpShown(error)) return 0;
    const failure = toCommandError(error);
    const { code, cause } = failure;
    printer.error(failure);
    if (code === 'internal_error') writeError(`${cause instanceof Error ? cause.stack : String(cause)}\n`);
    return failure.exitCode;
  }
};
