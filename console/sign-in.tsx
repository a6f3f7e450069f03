import type { Area } from './pages.tsx';
import { Field, Problem, readFields } from './parts/parts.tsx';
import { usePlace } from './router.tsx';
import { useAction, useConsole } from './use-console.ts';
import { useWallets } from './pay/wallets.ts';
import { signWalletIn } from './sign-wallet-in.ts';

/** The page on which a person signs in with a key. `area`: which pages the address is of. */
export const SignIn = ({ area }: { area: Area }) => {
  const { api, base, session, title, refresh } = useConsole();
  const { visit } = usePlace();
  const { isBusy, problem, run } = useAction();
  const wallets = useWallets(null);
  const signIn = (findKey: () => Promise<string>): void =>
    void run(async () => {
      const { role } = await api.read<{ role: Area }>('session', { body: { key: await findKey() } });
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
        {area === 'customer' &&
          session.wallets &&
          wallets.map((wallet) => (
            <button
              key={wallet.name}
              type="button"
              disabled={isBusy}
              onClick={() => signIn(() => signWalletIn(wallet, base))}
            >
              Sign in with {wallet.name}
            </button>
          ))}
      </form>
      <p class="soft">You are signed out after twelve hours, and when the key ends.</p>
    </main>
  );
};
