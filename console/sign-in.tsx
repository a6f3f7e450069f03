import type { Area } from './pages.tsx';
import { Field, Problem, readFields } from './parts/parts.tsx';
import { usePlace } from './router.tsx';
import { tellOtherTabs, useAction, useConsole } from './use-console.ts';
import { readNetworks } from './pay/terms.ts';
import { useWallets, type Wallet } from './pay/wallets.ts';
import { accountKinds, signWalletIn } from './sign-wallet-in.ts';

/** The wallets of this browser that can sign in on a network of this gateway. */
const useSigners = (): readonly Wallet[] => {
  const networks = Object.keys(readNetworks());
  return useWallets(null).filter(
    ({ namespace, signText }) =>
      signText !== undefined && networks.some((network) => network.startsWith(`${namespace}:`)),
  );
};

/** The page on which a person signs in with a key, or a customer with a wallet. `area`: which pages the address is of. */
export const SignIn = ({ area }: { area: Area }) => {
  const { api, base, session, title, refresh } = useConsole();
  const { visit } = usePlace();
  const { isBusy, problem, run } = useAction();
  const signers = useSigners();
  const wallets = area === 'customer' && session.wallets ? signers : [];
  const signIn = (findKey: () => Promise<string>): void =>
    void run(async () => {
      const { role } = await api.read<{ role: Area }>('session', { body: { key: await findKey() } });
      tellOtherTabs(role);
      if (role !== area) visit(role === 'operator' ? 'operator' : '');
      await refresh();
    });
  const submit = (event: SubmitEvent): void => {
    const { key = '' } = readFields(event);
    signIn(() => Promise.resolve(key));
  };
  return (
    <main class="sign-in">
      <p class="brand">{title}</p>
      <h1>Sign in to the console</h1>
      <p>
        {area === 'operator'
          ? 'Use the key of an operator. It sees all accounts.'
          : 'Use an API key of your account. The console can do what the key can do.'}
      </p>
      <form onSubmit={submit}>
        <Field
          name="key"
          label={area === 'operator' ? 'Operator key' : 'API key'}
          type="password"
          isRequired
          isOff
        />
        <Problem text={problem} />
        <button type="submit" class="main" disabled={isBusy}>
          Sign in
        </button>
      </form>
      {wallets.length > 0 && (
        <section>
          <h2>Or with a wallet</h2>
          <p>Each wallet has an account of its own, with all that it bought. Signing in costs nothing.</p>
          <div class="ask">
            {wallets.map((wallet) => (
              <button
                key={`${wallet.namespace} ${wallet.name}`}
                type="button"
                disabled={isBusy}
                onClick={() => signIn(() => signWalletIn(wallet, base))}
              >
                Sign in with {wallet.name} ({accountKinds[wallet.namespace]})
              </button>
            ))}
          </div>
        </section>
      )}
      <p class="soft">You are signed out after twelve hours, and when the key ends.</p>
    </main>
  );
};
