import { Readable } from 'node:stream';
import { loadConfig, loadHttpLeads } from '../config/load-config.ts';
import type { Environment } from '../config/read-variables.ts';
import { systemClock } from '../kit/clock.ts';
import { silentLog } from '../kit/log.ts';
import { userName } from '../kit/user-name.ts';
import { moveForgottenLists } from '../leads/move-forgotten-list.ts';
import { openLeadKeeper } from '../leads/open-lead-keeper.ts';
import type { LeadKeeper } from '../leads/lead-keeper.ts';
import { createForgetUpstream } from '../leads/upstream/forget-upstream.ts';
import { audited, runOperation, type OperatorCall } from '../operator/run-operation.ts';
import { openStore } from '../store/open-store.ts';
import type { Answer, CommandContext, LeadSession } from './command-context.ts';
import { isHelpShown, toCommandError, type CommandError } from './command-error.ts';
import { assertPlaceExists, readLeadPlace, type LeadPlace } from './leads/place.ts';
import { createProgram, type GlobalOptions } from './program.ts';
import { assertDataExists, hasData, readAuditPlace, readStorePlace } from './store-place.ts';

export interface CommandLine {
  /** The arguments after the program's name. */
  args: readonly string[];
  environment: Environment;
  write: (text: string) => void;
  writeError: (text: string) => void;
  /** Resolves when the text has left this process. Default: `write`. */
  writePart?: (text: string) => Promise<void>;
  /** Whether `writeError` writes to a terminal, where a line can be overwritten. Default false. */
  isErrorTerminal?: boolean;
  /** Whether the reader of stdout has closed it. Default: never. */
  isReaderGone?: () => boolean;
  /** Default: an empty stream. */
  stdin?: () => Readable;
  openKeeper?: (place: LeadPlace) => Promise<LeadKeeper>;
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

const callerHere = (): OperatorCall => ({
  actor: `cli:${userName()}`,
  actorLabel: null,
  role: 'write',
  requestId: null,
});

/** Takes over the lists of earlier versions before, as no gateway may have been started yet. */
const openPlace = (place: LeadPlace): Promise<LeadKeeper> =>
  openLeadKeeper(place, (store) => moveForgottenLists(place, store));

/** Runs one command, prints its answer or error and resolves with the exit code (see the table of CommandError). */
export const runCommandLine = async (commandLine: CommandLine): Promise<number> => {
  const { args, environment, write, writeError } = commandLine;
  const isJson = hasJsonOption(args);
  const printer = createPrinter(commandLine, isJson);
  const { openKeeper = openPlace } = commandLine;
  let exitCode = 0;

  const globalOptions = () => program.opts<GlobalOptions>();
  const config = () => loadConfig(environment, globalOptions());
  const print = (answer: Answer): void => {
    printer.answer(answer);
    exitCode = answer.exitCode ?? 0;
  };
  const base = {
    clock: systemClock,
    tell: (line: string) => writeError(`${line}\n`),
    writePart: commandLine.writePart ?? (async (text: string) => write(text)),
  };
  const caller = callerHere();
  const withAudit: LeadSession['audited'] = async (row, change) => {
    const { brand: _brand, ...place } = readAuditPlace(environment, globalOptions());
    if (!hasData(place)) return change();
    const store = await openStore(place, { log: silentLog, inThisThread: true });
    try {
      return await audited(row, caller, { ...base, store }, change);
    } finally {
      await store.close();
    }
  };
  const forgetUpstream = createForgetUpstream(() => loadHttpLeads(environment, globalOptions()));
  const context: CommandContext = {
    run: async (work, options = {}) => {
      const { brand, ...place } = readStorePlace(environment, globalOptions());
      if (options.isNewAllowed !== true) assertDataExists(place);
      const store = await openStore(place, { log: silentLog, inThisThread: true });
      try {
        const services = { ...base, store, brand, config };
        print(
          await work({
            ...services,
            caller,
            operate: (operation, input) => runOperation(operation, async () => input, caller, services),
          }),
        );
      } finally {
        await store.close();
      }
    },
    runOnConfig: async (work) => print(await work(config)),
    runOnLeads: async ({ isNewAllowed = false }, work) => {
      const place = readLeadPlace(environment, globalOptions());
      if (!isNewAllowed) assertPlaceExists(place);
      const { isErrorTerminal = false, stdin = () => Readable.from([]) } = commandLine;
      const { isReaderGone = () => false } = commandLine;
      const progressOutput = isJson ? null : { isTerminal: isErrorTerminal, write: writeError };
      const keeper = await openKeeper(place);
      const session = { ...base, keeper, place, progressOutput, stdin, isReaderGone };
      try {
        print(await work({ ...session, audited: withAudit, forgetUpstream }));
      } finally {
        await keeper.close();
      }
    },
  };
  const program = createProgram(context, { write, writeError: isJson ? () => {} : writeError });

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
