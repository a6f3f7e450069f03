import type { Area } from './pages.tsx';
import { Field, Problem, readFields } from './parts/parts.tsx';
import { usePlace } from './router.tsx';
import { useAction, useConsole } from './use-console.ts';

/** The page on which a person signs in with a key. `area`: which pages the address is of. */
export const SignIn = ({ area }: { area: Area }) => {
  const { api, title, refresh } = useConsole();
  const { visit } = usePlace();
  const { isBusy, problem, run } = useAction();
  const signIn = (event: SubmitEvent): void => {
    const { key = '' } = readFields(event);
    void run(async () => {
      const { role } = await api.read<{ role: Area }>('session', { body: { key } });
      if (role !== area) visit(role === 'operator' ? 'operator' : '');
      await refresh();
    });
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
      <form onSubmit={signIn}>
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
      <p class="soft">You are signed out after twelve hours, and when the key ends.</p>
    </main>
  );
};
