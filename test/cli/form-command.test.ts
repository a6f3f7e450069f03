import { Command } from 'commander';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { AppError } from '../../src/kit/errors.ts';
import { newId } from '../../src/kit/ids.ts';
import { addCommands, type Session } from '../../src/cli/command.ts';
import { CommandError } from '../../src/cli/command-error.ts';
import { commandsOf, toCommand } from '../../src/cli/form-command.ts';
import { accountIdField } from '../../src/operator/fields.ts';
import { changeKey } from '../../src/operator/keys.ts';
import { creditAccount } from '../../src/operator/money.ts';
import type { Verb } from '../../src/operator/verb.ts';
import { StoreError } from '../../src/store/store-error.ts';

type Input = Record<string, unknown>;

/** Runs the command of a verb, and returns the input that it had. */
const inputOf = async (verb: Verb, words: string[], refusal?: Error): Promise<Input> => {
  const inputs: Input[] = [];
  const operate = async (_verb: unknown, input: Input) => {
    inputs.push(input);
    throw refusal ?? new Error('asked');
  };
  const program = new Command().exitOverride().configureOutput({ writeErr: () => {} });
  const groups = [{ words: 'keys', summary: 'keys' }];
  const openStore = async () => ({ operate });
  addCommands(program, { groups, commands: commandsOf(verb) }, async (work) => {
    await work({ openStore } as unknown as Session);
  });
  const ended = program.parseAsync(words, { from: 'user' });
  if (refusal !== undefined) await ended;
  else await expect(ended).rejects.toThrow('asked');
  return inputs[0] ?? {};
};

const credit = ['credit', 'a', '5', '--reason', 'Invoice 1'];

test('arguments and options are the fields of the verb, as they were written', async () => {
  const set = ['keys', 'set', 'k', '--models', 'a,b', '--budget-day', 'none', '--expires', '2999-01-31'];
  expect(await inputOf(changeKey, set)).toEqual({
    key_id: 'k',
    models: ['a', 'b'],
    budget_day_usd: null,
    expires_at: '2999-01-31',
  });
});

test('an id of the caller is new, or that of the option', async () => {
  const fields = { account_id: 'a', amount_usd: '5', reason: 'Invoice 1' };
  const entryId = newId();
  expect(await inputOf(creditAccount, [...credit, '--entry-id', entryId])).toEqual({
    ...fields,
    entry_id: entryId,
  });
  expect(await inputOf(creditAccount, credit)).toEqual({
    ...fields,
    entry_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
});

test('a store that fails is told with the id under which the command works only once', async () => {
  const entryId = newId();
  const posting = inputOf(
    creditAccount,
    [...credit, '--entry-id', entryId],
    new StoreError('unavailable', 'no answer'),
  );
  await expect(posting).rejects.toThrow(CommandError);
  await expect(posting).rejects.toThrow(`--entry-id ${entryId}, which makes it only once: no answer`);
});

test('a refusal stays as it is, but for the names of options', async () => {
  const refusal = new AppError('account_not_found', 'no such account');
  await expect(inputOf(creditAccount, credit, refusal)).rejects.toBe(refusal);
  const wrong = new AppError('invalid_parameter', 'key_id: is wrong; alert_url: is no URL');
  await expect(inputOf(changeKey, ['keys', 'set', 'k'], wrong)).rejects.toThrow(
    'key_id: is wrong; --alert-url: is no URL',
  );
});

test('an example of the help can be typed: words of a list stand by themselves, and those of an option have commas', () => {
  const names = z.array(z.string()).describe('Names.');
  const form = { title: 'Send', description: 'Sends.', fields: { file: names, skus: names.optional() } };
  const example = { file: ['a.csv', 'b c.csv'], skus: ['one', 'two'] };
  const run = () => Promise.reject(new Error('never'));
  const { examples } = toCommand({ ...form, usage: 'send <file...> [--skus <skus>]', example, run });
  expect(examples).toEqual(['causeway send a.csv "b c.csv" --skus one,two']);
});

test('a usage line that names no field is a fault of the program', () => {
  const form = { title: 'Show', description: 'Shows.', fields: { account_id: accountIdField }, example: {} };
  const run = () => Promise.reject(new Error('never'));
  expect(() => toCommand({ ...form, usage: 'show <akount>', run })).toThrow('no field for "akount"');
});
