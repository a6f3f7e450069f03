import { loadConfig } from '../config/load-config.ts';
import type { Environment } from '../config/setting-names.ts';
import type { JsonObject } from '../kit/json.ts';
import type { Answer, CommandContext, Work } from './command-context.ts';
import { assertPlaceExists, readLeadPlace } from './leads/place.ts';
import type { LeadSurroundings } from './leads/session.ts';
import { createProgram, type GlobalOptions } from './program.ts';
import { assertDataExists, readStorePlace, type StorePlace } from './store-place.ts';
import { helpWasShown, toCommandError } from './to-command-error.ts';
import { withLeadKeeper } from './leads/with-lead-keeper.ts';
import { withStore } from './with-store.ts';

export interface CommandLine extends LeadSurroundings {
  /** The words after the program's name. */
  args: readonly string[];
  environment: Environment;
  write: (text: string) => void;
  /** Writes like `write`, and resolves when the text has left this process; absent: `write` keeps up. */
  writePart?: (text: string) => Promise<void>;
}

/** Carries out one command, prints what came of it and resolves with the exit code (see the table of CommandError). */
export const runCommandLine = async (commandLine: CommandLine): Promise<number> => {
  const { args, environment, write, writeError } = commandLine;
  const isJson = asksForJson(args);
  const printer = isJson ? jsonPrinter(commandLine) : textPrinter(commandLine);
  let exitCode = 0;

  const answerWith = (answer: Answer): void => {
    printer.answer(answer);
    exitCode = answer.exitCode ?? 0;
  };
  const talk = {
    tell: (line: string) => writeError(`${line}\n`),
    writePart: commandLine.writePart ?? (async (text: string) => write(text)),
  };
  const config = () => loadConfig(environment, program.opts<GlobalOptions>());
  const storePlace = () => readStorePlace(environment, program.opts<GlobalOptions>());
  const carryOut = (place: StorePlace, work: Work): Promise<void> =>
    withStore(place, async (session) => {
      answerWith(await work({ ...session, ...talk, config }));
    });
  const context: CommandContext = {
    run: async (work) => {
      const place = storePlace();
      assertDataExists(place);
      await carryOut(place, work);
    },
    runCreating: async (work) => carryOut(storePlace(), work),
    runOnConfig: async (work) => {
      const settings = await config();
      assertDataExists(settings);
      answerWith(await work(settings));
    },
    runOnLeads: async ({ to, isNewAllowed }, work) => {
      const place = readLeadPlace(environment, {
        ...program.opts<GlobalOptions>(),
        ...(to === undefined ? {} : { to }),
      });
      if (isNewAllowed !== true) assertPlaceExists(place);
      await withLeadKeeper({ place, showsProgress: !isJson, ...commandLine }, async (session) =>
        answerWith(await work({ ...session, ...talk })),
      );
    },
  };
  const program = createProgram(context, { write, writeError: printer.usage });

  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (helpWasShown(error)) return 0;
    const { code, message, cause, exitCode } = toCommandError(error);
    printer.error({ code, message });
    if (code === 'internal_error') writeError(`${cause instanceof Error ? cause.stack : String(cause)}\n`);
    return exitCode;
  }
};

/** Known from the words alone, so that an error in them can be told as JSON too. */
const asksForJson = (args: readonly string[]): boolean => {
  const end = args.indexOf('--');
  return (end === -1 ? args : args.slice(0, end)).includes('--json');
};

interface Printer {
  answer: (answer: Answer) => void;
  error: (error: { code: string; message: string }) => void;
  /** The help that belongs to an error. */
  usage: (text: string) => void;
}

const textPrinter = ({ write, writeError }: CommandLine): Printer => ({
  answer: ({ text, remark }) => {
    if (text !== null) write(`${text}\n`);
    if (remark !== undefined) writeError(`${remark}\n`);
  },
  error: ({ message }) => writeError(`causeway: ${message}\n`),
  usage: writeError,
});

const jsonPrinter = ({ write, writeError }: CommandLine): Printer => {
  let isPrinted = false;
  const print = (document: JsonObject): void => {
    isPrinted = true;
    write(`${JSON.stringify(document, null, 2)}\n`);
  };
  return {
    answer: ({ json }) => print(json),
    // The store can fail to close after the answer; stdout carries one document only.
    error: (error) => (isPrinted ? writeError(`causeway: ${error.message}\n`) : print({ error })),
    usage: () => {},
  };
};
