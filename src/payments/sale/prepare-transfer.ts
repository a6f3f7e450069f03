import { z } from 'zod';
import { AppError } from '../../kit/errors.ts';
import { toNano } from './scheme.ts';
import { offeredTerms, type PaymentMethod } from '../wire/challenge.ts';

/** The part of an offer that a wallet wants to pay. `amount`: in the asset's smallest unit. */
export const askedTransfer = z.object({
  network: z.string().max(100),
  wallet: z.string().max(100),
  amount: z.string().regex(/^[1-9]\d{0,17}$/, 'must be an amount of the terms, in the smallest unit'),
});

export type AskedTransfer = z.infer<typeof askedTransfer>;

/** Makes a transfer on the terms that are offered now. The proof that comes back is checked like any other. */
export const prepareTransfer = async (
  methods: readonly PaymentMethod[],
  { network: id, wallet, amount }: AskedTransfer,
): Promise<string> => {
  const method = methods.find(({ network }) => network.id === id);
  const family = method?.network.family;
  if (method === undefined || family?.prepareTransfer === undefined)
    throw wrong('network', 'must be a network of the terms whose wallets sign a prepared transaction');
  if (family.addressProblem(wallet) !== null) throw wrong('wallet', 'is not an address of the network');
  const { decimals } = method.network.asset;
  const price = toNano(BigInt(amount), decimals);
  const exact = offeredTerms([method], price).find(({ requirements }) => requirements.scheme === 'exact');
  const requirements = exact?.requirements;
  const transfer = requirements && (await method.prepareTransfer({ wallet, requirements, decimals }));
  if (!transfer)
    throw new AppError('payment_unavailable', 'The network cannot be asked right now. Try again shortly.', {
      retryAfterSeconds: 10,
    });
  return transfer;
};

const wrong = (param: string, problem: string): AppError =>
  new AppError('invalid_parameter', `${param}: ${problem}`, { param });
