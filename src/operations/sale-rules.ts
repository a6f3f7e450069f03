import type { JsonObject } from '../kit/json.ts';
import type { AnswerParts } from './answer.ts';
import type { Call, Services } from './call.ts';
import type {
  AnswerSale,
  BalanceAnswerSale,
  CreditSale,
  DescribedSale,
  FreeSale,
  PerCallSale,
  PrepaidSale,
  Sale,
  SignInSale,
} from './sale.ts';

/** What is sold by x402. */
export type PaidSale<Input = unknown> =
  | AnswerSale<Input>
  | BalanceAnswerSale<Input>
  | CreditSale<Input>
  | PerCallSale<Input>
  | SignInSale<Input>;

type SaleRules = typeof none;

const none = {
  /** Whether a call needs an API key, may have one, or has none that counts. */
  key: 'none' as 'needed' | 'taken' | 'none',
  /** A call with a key is a job under a hold on the balance. */
  isPrepaid: false,
  /** A call is paid by x402 where it has no key. */
  isPaid: false,
  /** A payment raises a balance. */
  isCredit: false,
  /** An answer is sold. It is made before its payment is settled. */
  isAnswer: false,
  /** A call is free of charge and needs no key. */
  isOpen: false,
  /** As `isOpen`, for a call that signs a wallet in. */
  isSignIn: false,
};

const rules: Readonly<Record<Sale['kind'], SaleRules>> = {
  free: { ...none, key: 'needed' },
  open: { ...none, isOpen: true },
  prepaid: { ...none, key: 'needed', isPrepaid: true },
  answer: { ...none, isPaid: true, isAnswer: true },
  balanceAnswer: { ...none, key: 'taken', isPrepaid: true, isPaid: true, isAnswer: true },
  credit: { ...none, key: 'taken', isPaid: true, isCredit: true },
  perCall: { ...none, key: 'taken', isPrepaid: true, isPaid: true, isCredit: true },
  // It asks for no key, because it often replaces one that has ended.
  signIn: { ...none, isPaid: true, isCredit: true, isSignIn: true },
};

/** Returns what holds for all sales of a kind. */
export const rulesOf = ({ kind }: Pick<DescribedSale, 'kind'>): SaleRules => rules[kind];

/** Whether calls are charged to somebody: all kinds but `free` and `open`. */
export const isSold = (sale: Pick<DescribedSale, 'kind'>): boolean =>
  rulesOf(sale).isPrepaid || rulesOf(sale).isPaid;

const isPaidSale = (sale: DescribedSale): sale is PaidSale => rules[sale.kind].isPaid;

/** Returns what is sold by x402; null: nothing is. */
export const offerOf = (sale: DescribedSale): PaidSale | null => (isPaidSale(sale) ? sale : null);

/** Returns how calls with a key are prepaid; null: they are not. */
export const prepaidOf = (sale: DescribedSale): PrepaidSale | null =>
  sale.kind === 'prepaid' ? sale : 'prepaid' in sale ? sale.prepaid : null;

export type ProofRead = FreeSale & Required<Pick<FreeSale, 'names'>>;

/** Whether what is read may come with the proof that paid for it in place of a key. */
export const isReadByProof = (sale: Sale, { config }: Pick<Services, 'config'>): sale is ProofRead =>
  config.wallets.isOn && sale.kind === 'free' && sale.names !== undefined;

const isAnswerSale = (sale: PaidSale): sale is AnswerSale | BalanceAnswerSale => rules[sale.kind].isAnswer;

/** Returns how answers are sold; null: none are. */
export const answerSaleOf = (sale: Sale): AnswerSale | BalanceAnswerSale | null => {
  const offer = offerOf(sale);
  return offer !== null && isAnswerSale(offer) ? offer : null;
};

/** Answers a call that is free of charge, although its operation is sold; null: this call is to be paid. */
export const answerFree = (
  sale: PaidSale,
  input: unknown,
  call: Pick<Call, 'signIn' | 'signal' | 'transport'>,
  services: Services,
): Promise<AnswerParts> | null => {
  if (isAnswerSale(sale))
    return sale.look?.(input, services, call.signal)?.then((body) => ({ body })) ?? null;
  return sale.kind === 'signIn' ? sale.signIn(input, call, services) : null;
};

/** Filters a stored answer before it is given again. */
export const filterAnswer = async (
  sale: PaidSale,
  result: JsonObject,
  { services, signal }: { services: Services; signal: AbortSignal },
): Promise<JsonObject> =>
  (isAnswerSale(sale) ? await sale.replay?.(result, services, signal) : undefined) ?? result;

/**
 * Whether answers are made up: those that would be made now, or one that was made (`result`). Money that buys nothing but
 * the sandbox is not taken for a balance.
 */
export const isMadeUp = (sale: PaidSale, services: Services, result: JsonObject | null = null): boolean =>
  isAnswerSale(sale)
    ? sale.isSandbox(services, result)
    : sale.items === undefined && (!services.config.x402.takesRealMoney || !services.catalogs.sellsReal());

/**
 * Whether calls, or an answer that was made (`result`), may be sold by x402 now: what is made up is not sold for real
 * money. This changes while the gateway runs, as when profiles are imported.
 */
export const isOnSale = (sale: PaidSale, services: Services, result: JsonObject | null = null): boolean =>
  !services.config.x402.takesRealMoney || !isMadeUp(sale, services, result);

/** Tells of made-up answers; null: there are none. */
export const noticeOf = (sale: Sale, services: Services): string | null => {
  const offer = offerOf(sale);
  return offer !== null && isMadeUp(offer, services) ? offer.sandbox.notice : null;
};

/** Returns what `make` made of the operations that can be used now, once for each set of them. */
export const createOffered = <Sold extends { name: string; sale: Sale }, T>(
  operations: readonly Sold[],
  services: Services,
  make: (offered: readonly Sold[]) => T,
): (() => T) => {
  const made = new Map<string, T>();
  return () => {
    const isOffered = ({ sale }: { sale: Sale }): boolean =>
      !isPaidSale(sale) || sale.kind === 'perCall' || isOnSale(sale, services);
    const offered = operations.filter((operation) => {
      const { sale } = operation;
      // An open operation describes another one (`countedWith`), so both are offered together.
      const told = sale.kind === 'open' && operations.find(({ name }) => name === sale.countedWith);
      return isOffered(told || operation);
    });
    const key = offered.map(({ name }) => name).join(' ');
    const known = made.get(key) ?? make(offered);
    made.set(key, known);
    return known;
  };
};
