import { useState } from 'preact/hooks';
import { longestMs } from '../api.ts';
import { money } from '../format.ts';
import { Field, Problem, readFields, Shown, Title } from '../parts/parts.tsx';
import { PayWithWallet } from '../pay/pay-with-wallet.tsx';
import { Link, usePlace } from '../router.tsx';
import { AutoTopUp } from './auto-top-up.tsx';
import { Balance } from './overview.tsx';
import { payByCard } from './pay-by-card.ts';
import { useAction, useConsole, useLoad } from '../use-console.ts';

interface TopUpAnswer {
  amount_usd: string;
  balance_usd?: string;
}

/** Raises the balance by a payment of a wallet in this browser, or by card on a page of Stripe. */
export const TopUp = () => {
  const { api, base, brand, session } = useConsole();
  const { isBusy, problem, run } = useAction();
  const { query } = usePlace();
  const caller = useLoad<{ account_id: string }>('v1/whoami');
  const [amount, setAmount] = useState<string | null>(null);
  const [paid, setPaid] = useState<TopUpAnswer | null>(null);
  const send = (headers: Readonly<Record<string, string>>): Promise<Response> =>
    fetch(`${base}/console/v1/topup`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', [`x-${brand}-console`]: '1', ...headers },
      body: JSON.stringify({ amount_usd: amount }),
      signal: AbortSignal.timeout(longestMs),
    });
  const choose = (event: SubmitEvent): void => {
    const { amount_usd: chosen = '' } = readFields(event);
    setPaid(null);
    setAmount(null);
    if (event.submitter?.id !== 'card') return setAmount(chosen);
    void run(() => payByCard(api, { amount_usd: chosen }));
  };
  return (
    <>
      <Title>Top-up</Title>
      <Balance />
      {query.has('paid') && (
        <p class="notice" role="status">
          You have paid. The balance rises once Stripe has the money.
        </p>
      )}
      <form class="row" onSubmit={choose}>
        <Field name="amount_usd" label="USD to pay" value="5.00" isRequired />
        {(session.wallets || !session.cards) && (
          <button type="submit" class="main">
            See how to pay
          </button>
        )}
        {session.cards && (
          <button type="submit" id="card" class="main" disabled={isBusy}>
            Pay by card
          </button>
        )}
      </form>
      <Problem text={problem} />
      {paid !== null && (
        <p role="status">
          {money(paid.amount_usd)} was added. The balance is {money(paid.balance_usd)}.{' '}
          <Link path="transactions">All changes of it</Link>
        </p>
      )}
      {amount !== null && paid === null && (
        <Shown loaded={caller}>
          {({ account_id: id }) => (
            <PayWithWallet
              key={amount}
              name={`topup ${amount} ${id}`}
              base={base}
              send={send}
              onPaid={setPaid}
            />
          )}
        </Shown>
      )}
      {session.cards && <AutoTopUp />}
    </>
  );
};
