import { useState } from 'preact/hooks';
import type { Key, Model } from '../answers.ts';
import { Action } from '../parts/confirm.tsx';
import { keyColumns } from '../parts/history.tsx';
import { Field, Problem, readFields, Title } from '../parts/parts.tsx';
import { CustomerTable } from '../parts/table.tsx';
import { useAction, useConsole, useLoad } from '../use-console.ts';

const budgets = [
  ['budget_day_usd', 'Most in a day (US dollars)'],
  ['budget_month_usd', 'Most in a month (US dollars)'],
  ['budget_total_usd', 'Most in all (US dollars)'],
] as const;

const NewKey = ({ onMade }: { onMade(): void }) => {
  const { api } = useConsole();
  const { isBusy, problem, run } = useAction();
  const [made, setMade] = useState<string | null>(null);
  const models = useLoad<{ data: Model[] }>('v1/models');
  const make = (event: SubmitEvent): void => {
    const form = event.currentTarget as HTMLFormElement;
    const { model = '', label = '', ...fields } = readFields(event);
    const limits = Object.entries(fields).filter(([, value]) => value !== '');
    const body = { label, ...Object.fromEntries(limits), ...(model === '' ? {} : { models: [model] }) };
    void run(async () => {
      const { key } = await api.read<{ key: string }>('v1/keys', { body });
      setMade(key);
      form.reset();
      onMade();
    });
  };
  return (
    <section>
      <h2>Make a key</h2>
      <form class="grid" onSubmit={make}>
        <Field name="label" label="Name of the key" isRequired />
        {budgets.map(([name, label]) => (
          <Field key={name} name={name} label={label} hint="no limit" />
        ))}
        <Field name="usage_tag" label="Tag in the sums of use" hint="none" />
        <label class="field">
          <span>Model</span>
          <select name="model">
            <option value="">all</option>
            {(models.data?.data ?? []).map(({ id }) => (
              <option key={id}>{id}</option>
            ))}
          </select>
        </label>
        <button type="submit" class="main" disabled={isBusy}>
          Make the key
        </button>
      </form>
      <Problem text={problem} />
      {made !== null && (
        <p class="notice" role="status">
          This is the whole key. It is shown only now: <code class="whole">{made}</code>
        </p>
      )}
    </section>
  );
};

export const Keys = () => {
  const { api } = useConsole();
  const [turn, setTurn] = useState(0);
  const update = (): void => setTurn((last) => last + 1);
  const end = ({ id }: Key) => api.open(`v1/keys/${id}`, { method: 'DELETE' }).then(update);
  return (
    <>
      <Title>Keys</Title>
      <CustomerTable<Key>
        name="Keys"
        path="v1/keys"
        version={turn}
        columns={[
          ...keyColumns,
          {
            title: 'End',
            cell: (key) =>
              key.revoked_at === null && (
                <Action
                  label="End"
                  name={`End the key ${key.display}`}
                  question={`End the key ${key.label} (${key.display}) for good? Calls with it fail from now on, also those of this console if you signed in with it.`}
                  yes="End the key"
                  act={() => end(key)}
                />
              ),
          },
        ]}
        keyOf={({ id }) => id}
        none="There are no keys."
      />
      <NewKey onMade={update} />
    </>
  );
};
