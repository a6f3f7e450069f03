import { useCallback, useEffect, useState } from 'preact/hooks';
import { ApiError, isJudgement, longestMs, messageOf } from '../api.ts';
import { useConfirmed } from '../parts/confirm.tsx';
import { Facts } from '../parts/parts.tsx';
import { isPayable, readHeader, readNetworks, writeProof, type Offer, type Terms } from './terms.ts';
import { useWallets, type Prepare, type Wallet } from './wallets.ts';

interface PayProps<Answer> {
  /** Names what is paid for in the storage of the tab: its proof is kept until it is answered. */
  name: string;
  /** The path of the gateway, without a slash at its end. */
  base: string;
  /** Sends the request that is paid for. */
  send(headers: Readonly<Record<string, string>>): Promise<Response>;
  /** `isPaid`: it was charged. */
  onPaid(answer: Answer, isPaid: boolean): void;
}

interface Price {
  terms: Terms;
  /** In words, such as "0.10 USDC". */
  amount: string;
}

const networkName = (id: string): string => readNetworks()[id] ?? id;

/** A refusal after which the proof is of no use. That of a repeated one may hide that it was taken the first time. */
const isFinal = ({ status, headers }: Response, isRepeated: boolean): boolean =>
  status === 402 ||
  (status < 500 && headers.get('x-should-retry') === 'false') ||
  (!isRepeated && isJudgement(status) && status !== 409);

const createPrepare =
  (base: string): Prepare =>
  async (asked) => {
    const answer = await fetch(`${base}/pay/transfer`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(asked),
      signal: AbortSignal.timeout(longestMs),
    });
    if (!answer.ok) throw new ApiError(answer.status, await messageOf(answer));
    return ((await answer.json()) as { transaction: string }).transaction;
  };

/** Reads what an unpaid request costs; throws ApiError for any other refusal. */
const readPrice = async (answer: Response): Promise<Price> => {
  const terms = readHeader(answer.headers.get('payment-required')) as Terms | null;
  if (answer.status !== 402 || terms === null) throw new ApiError(answer.status, await messageOf(answer));
  const { x402 } = (await answer.json()) as { x402: { amount: string; asset: string } };
  return { terms, amount: `${x402.amount} ${x402.asset}` };
};

interface WaysProps {
  price: Price;
  wallets: readonly Wallet[];
  isBusy: boolean;
  onChoose(wallet: Wallet, offer: Offer): void;
}

/** The networks and wallets with which the price can be paid. */
const Ways = ({ price: { terms, amount }, wallets, isBusy, onChoose }: WaysProps) => {
  const offers = terms.accepts.filter(isPayable);
  const ways = offers.flatMap((offer) =>
    wallets.filter((wallet) => wallet.pays(offer)).map((wallet) => ({ offer, wallet })),
  );
  return (
    <>
      <Facts
        facts={[
          ['Price', amount],
          ...offers.map(({ network, payTo }) => [`On ${networkName(network)}`, `to ${payTo}`] as const),
        ]}
      />
      {ways.length === 0 && (
        <p class="none">
          No wallet in this browser can pay this. Install one, and reload the page. A program can pay it, too.
        </p>
      )}
      <div class="row">
        {ways.map(({ offer, wallet }) => (
          <button
            key={`${offer.network} ${wallet.name}`}
            type="button"
            disabled={isBusy}
            onClick={() => onChoose(wallet, offer)}
          >
            Pay with {wallet.name} on {networkName(offer.network)}
          </button>
        ))}
      </div>
    </>
  );
};

/** Has a person pay a request with a wallet of this browser. Its first answer says what it costs. */
export const PayWithWallet = <Answer,>({ name, base, send, onPaid }: PayProps<Answer>) => {
  const wallets = useWallets(useCallback(createPrepare(base), [base]));
  const [price, setPrice] = useState<Price | null>(null);
  const [kept, setKept] = useState<string | null>(null);
  const { isBusy, run, ask, dialog } = useConfirmed();

  const keep = (proof: string | null): void => {
    if (proof === null) sessionStorage.removeItem(name);
    else sessionStorage.setItem(name, proof);
    setKept(proof);
  };
  const take = async (answer: Response): Promise<void> => {
    const body = (await answer.json()) as Answer;
    // Only now: a body that breaks off is asked for again.
    keep(null);
    onPaid(body, answer.headers.has('payment-response'));
  };
  const begin = async (): Promise<void> => {
    const proof = sessionStorage.getItem(name);
    if (proof !== null) return setKept(proof);
    const answer = await send({});
    if (answer.ok) await take(answer);
    else setPrice(await readPrice(answer));
  };
  const deliver = async (proof: string): Promise<void> => {
    const isRepeated = sessionStorage.getItem(name) !== null;
    keep(proof);
    const answer = await send({ 'payment-signature': proof });
    if (answer.ok) return take(answer);
    const refusal = new ApiError(answer.status, await messageOf(answer));
    if (isFinal(answer, isRepeated)) {
      keep(null);
      // The terms may be others by now.
      await begin().catch(() => undefined);
    }
    throw refusal;
  };
  useEffect(() => void run(begin), [name]);

  const choose = ({ terms, amount }: Price, wallet: Wallet, offer: Offer): void =>
    void run(async () => {
      const account = await wallet.connect(offer);
      ask({
        question: `Pay ${amount} on ${networkName(offer.network)}, from ${account.address} to ${offer.payTo}? Your wallet asks you to sign. You pay no fee of the network.`,
        yes: `Pay ${amount}`,
        act: async () => deliver(writeProof(terms, offer, await account.sign())),
      });
    });

  return (
    <>
      {dialog}
      {price === null && kept === null && isBusy && <p class="waiting">Asking for the price…</p>}
      {kept !== null && isBusy && <p class="waiting">Paid. Waiting for the answer…</p>}
      {kept !== null && !isBusy && (
        <p>
          The payment was sent, and its answer is not here yet.{' '}
          <button type="button" onClick={() => void run(() => deliver(kept))}>
            Send the same payment again
          </button>
        </p>
      )}
      {price !== null && kept === null && (
        <Ways
          price={price}
          wallets={wallets}
          isBusy={isBusy}
          onChoose={(wallet, offer) => choose(price, wallet, offer)}
        />
      )}
    </>
  );
};
