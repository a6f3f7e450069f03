import { z } from 'zod';
import { exampleKey as exampleOwnKey, keyMembers, toKeyAnswer } from '../../operations/keys/key-answer.ts';
import type { UsedKey } from '../../store/store.ts';
import { exampleAccount } from '../accounts/account-view.ts';
import type { OperatorServices } from '../operator-operation.ts';
import { requireFound } from '../require-found.ts';

export const keySchema = z.strictObject({ account_id: z.string(), ...keyMembers });

export type KeyView = z.output<typeof keySchema>;

export const toKeyView = (key: UsedKey): KeyView => ({ account_id: key.accountId, ...toKeyAnswer(key) });

/** Reads a key as it is now. Throws AppError `key_not_found`. */
export const findKeyView = async (
  id: string,
  { store, clock }: Pick<OperatorServices, 'store' | 'clock'>,
): Promise<KeyView> => toKeyView(requireFound(await store.getKey({ id, now: clock.now() }), 'key', id));

/** For examples. */
export const exampleKey: KeyView = { account_id: exampleAccount.id, ...exampleOwnKey };
