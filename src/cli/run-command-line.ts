import { systemClock } from '../clock.ts';
import { silentLog } from '../log.ts';
import { openStore } from '../store/open-store.ts';
import type { Answer, CommandContext, Work } from './command-context.ts';
import { createProgram, type GlobalOptions } from './program.ts';
import { assertDataExists, readStoreSettings, type Environment, type StoreSettings } from './store-settings.ts';
import { helpWasShown, toCommandError } from './to-command-error.ts';

export interface CommandLine {
  /** The words after the program's name. */
  args: readonly string[];
  environment: Environment;
  write(text: string): void;
  writeError(text: string): void;
}

/** Carries out one command and prints what came of it. Resolves with the exit code: 0 done, 1 refused or failed, 2 wrong usage. */
export const runCommandLine = async ({ args, environment, write, writeError }: CommandLine): Promise<number> => {
  const asJson = args.slice(0, args.includes('--') ? args.indexOf('--') : undefined).includes('--json');
  const print = ({ json, text, remark }: Answer): void => {
    write(asJson ? toDocument(json) : `${text}\n`);
    if (remark !== undefined && !asJson) writeError(`${remark}\n`);
  };
  let exitCode = 0;
  const carryOut = async (settings: StoreSettings, work: Work): Promise<void> => {
    const answer = await withStore(settings, work);
    print(answer);
    exitCode = answer.exitCode ?? 0;
  };
  const settings = (): StoreSettings => readStoreSettings(environment, program.opts<GlobalOptions>());
  const context: CommandContext = {
    run: async (work) => {
      const existing = settings();
      assertDataExists(existing);
      await carryOut(existing, work);
    },
    runCreating: (work) => carryOut(settings(), work),
  };
  const program = createProgram(context, { write, writeError: asJson ? () => {} : writeError });
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (helpWasShown(error)) return 0;
    const failure = toCommandError(error);
    const { code, message } = failure;
    if (asJson) write(toDocument({ error: { code, message } }));
    else if (message !== '') writeError(`causeway: ${message}\n`);
    if (code === 'internal_error') writeError(`${String(failure.cause)}\n`);
    return failure.exitCode;
  }
};
